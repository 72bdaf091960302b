package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/spf13/cobra"

	"github.com/mecha-slack/mecha-slack/bot"
)

// proveTimeout bounds the two calls that prove tokens.
const proveTimeout = 20 * time.Second

func (c *cli) authCmd() *cobra.Command {
	var apiURL string
	var check bool
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Prove the two Slack tokens, then store them in the home",
		Long: `Takes the bot token (xoxb-…) and the app-level token (xapp-…) from SLACK_BOT_TOKEN and
SLACK_APP_TOKEN, or asks for them, tries both against Slack, and stores them in
credentials.toml (mode 0600) only if Slack accepts both. Tokens are never given as
arguments: other users of the machine can read those.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.auth(cmd.Context(), apiURL, check) },
	}
	cmd.Flags().StringVar(&apiURL, "api-url", "", "another workspace than Slack's; https, or loopback")
	cmd.Flags().BoolVar(&check, "check", false, "prove the tokens that are there, and store nothing")
	return cmd
}

func (c *cli) auth(ctx context.Context, apiURL string, check bool) error {
	if apiURL != "" {
		if err := checkAPIURL(apiURL); err != nil {
			return err
		}
	}
	if check {
		h, err := c.openHome(false)
		if err != nil {
			return err
		}
		cred, err := c.credentials(h)
		if err != nil {
			return err
		}
		return c.proved(ctx, cred, apiURL)
	}
	if err := c.aPerson(); err != nil {
		return err
	}
	h, err := c.openHome(true)
	if err != nil {
		return err
	}
	cred := credentials{BotToken: c.env("SLACK_BOT_TOKEN"), AppToken: c.env("SLACK_APP_TOKEN")}
	in := c.answers()
	for _, t := range []struct {
		token *string
		ask   string
	}{{&cred.BotToken, "Bot User OAuth Token (xoxb-…): "}, {&cred.AppToken, "App-Level Token (xapp-…): "}} {
		if *t.token != "" {
			continue
		}
		if *t.token, err = in.ask(ctx, t.ask); err != nil {
			return fmt.Errorf("no token was given: %w; set SLACK_BOT_TOKEN and SLACK_APP_TOKEN, or answer the question", err)
		}
	}
	c.addSecret(h, cred.BotToken)
	c.addSecret(h, cred.AppToken)
	if err := c.proved(ctx, cred, apiURL); err != nil {
		return err
	}
	if err := storeCredentials(h, cred); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "Stored in %s. Next: mecha-slack connect, then mecha-slack link.\n", c.short(h.path("credentials.toml")))
	return nil
}

// proved tries both tokens and says what they are for.
func (c *cli) proved(ctx context.Context, cred credentials, apiURL string) error {
	p, err := c.prove(ctx, cred, apiURL)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "✓ Slack accepts both tokens: %s in %s (%s)\n", plain(p.User, 80), plain(p.TeamName, 80), p.Team)
	if len(p.Scopes) > 0 {
		if missing := missingScopes(p.Scopes); len(missing) > 0 {
			fmt.Fprintf(c.Stdout, "⚠ The app lacks the scopes %s: paste `mecha-slack manifest` into its settings and install it again.\n", strings.Join(missing, ", "))
		}
	}
	return nil
}

func (c *cli) prove(ctx context.Context, cred credentials, apiURL string) (bot.Proof, error) {
	b, err := bot.New(bot.Config{APIURL: apiURL, BotToken: cred.BotToken, AppToken: cred.AppToken}, bot.Deps{})
	if err != nil {
		return bot.Proof{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, proveTimeout)
	defer cancel()
	return b.Prove(ctx)
}

// storeCredentials replaces the file whole, readable by its owner alone from its
// first byte on.
func storeCredentials(h *home, cred credentials) error {
	path := h.path("credentials.toml")
	f, err := os.CreateTemp(h.dir, ".credentials-*") // mode 0600
	if err != nil {
		return fmt.Errorf("cannot store the tokens: %w", err)
	}
	defer os.Remove(f.Name())
	err = toml.NewEncoder(f).Encode(cred)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("cannot store the tokens: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("cannot store the tokens: %w", err)
	}
	return nil
}

func (c *cli) linkCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "link",
		Short: "Print a one-time code; whoever sends it to the bot owns it",
		Args:  cobra.NoArgs,
		RunE: c.byPerson(c.atNewDesk(func(ctx context.Context, d *desk, _ []string) error {
			code, expires, err := bot.People{DB: d.db}.NewCode(ctx)
			if err != nil {
				return fmt.Errorf("cannot make a code: %w", err)
			}
			fmt.Fprintf(c.Stdout, "%s\n\nSend this to the bot in a direct message before %s. It works once, and makes you an owner: you drive the bot and decide what goes out.\n", code, expires.Format("15:04"))
			if _, ok := d.botPID(); !ok {
				fmt.Fprintln(c.Stdout, "No bot runs on this home: start `mecha-slack connect` first.")
			}
			return nil
		})),
	}
}

func (c *cli) unlinkCmd() *cobra.Command {
	var team string
	cmd := &cobra.Command{
		Use:   "unlink USER",
		Short: "Take an owner's rights away",
		Args:  cobra.ExactArgs(1),
		RunE: c.byPerson(c.atDesk(func(ctx context.Context, d *desk, args []string) error {
			people := bot.People{DB: d.db}
			owners, err := people.Owners(ctx, team)
			if err != nil {
				return err
			}
			var found []bot.Person
			for _, o := range owners {
				if o.User == args[0] || o.Name == args[0] {
					found = append(found, o)
				}
			}
			switch {
			case len(found) == 0:
				return fmt.Errorf("%q is no owner of this bot", args[0])
			case len(found) > 1:
				return refusedf("%q owns it in several workspaces; name one with --team", args[0])
			}
			if _, err := people.Unbind(ctx, found[0].Team, found[0].User); err != nil {
				return fmt.Errorf("cannot unlink %s: %w", args[0], err)
			}
			fmt.Fprintf(c.Stdout, "%s (%s in %s) is no owner any more.\n", plain(firstOf(found[0].Name, found[0].User), 80), found[0].User, found[0].Team)
			return nil
		})),
	}
	cmd.Flags().StringVar(&team, "team", "", "the workspace, where a name is in several")
	return cmd
}
