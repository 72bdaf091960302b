package bot

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/slack-go/slack"
)

// Proof is what both tokens of an app showed when they were tried.
type Proof struct {
	Team, TeamName string
	User           string // ours
	Scopes         []string
}

// Prove tries both tokens against Slack: the bot token says who we are and what
// the app may, the app-level token opens the door for a socket (and goes no
// further). Nothing else is called.
func (b *Bot) Prove(ctx context.Context) (Proof, error) {
	a, err := b.api.AuthTestContext(ctx)
	if err != nil {
		return Proof{}, unproved("the bot token", err)
	}
	if a.BotID == "" {
		return Proof{}, errors.New("the bot token is a person's token: take the Bot User OAuth Token of the app")
	}
	p := Proof{Team: a.TeamID, TeamName: a.Team, User: a.User}
	for _, s := range strings.Split(a.Header.Get("X-OAuth-Scopes"), ",") {
		if s = strings.TrimSpace(s); s != "" {
			p.Scopes = append(p.Scopes, s)
		}
	}
	if _, _, err := b.api.StartSocketModeContext(ctx); err != nil {
		return p, unproved("the app-level token (it needs the scope connections:write, and Socket Mode on)", err)
	}
	return p, nil
}

// unproved tells a token that Slack refused from a Slack that was not reached.
func unproved(token string, err error) error {
	var refused slack.SlackErrorResponse
	if errors.As(err, &refused) {
		return fmt.Errorf("Slack does not accept %s: %w", token, err)
	}
	return fmt.Errorf("cannot reach Slack to try %s: %w", token, err)
}
