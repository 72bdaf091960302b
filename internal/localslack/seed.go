package localslack

import (
	"cmp"
	"strings"
	"time"
)

// seed is what a workspace begins with and never changes: its ids, people and
// tokens. It is the first line of the journal, so all of it is stable across
// restarts.
type seed struct {
	TeamID    string     `json:"team_id"`
	TeamName  string     `json:"team_name"`
	Domain    string     `json:"domain"`
	AppID     string     `json:"app_id"`
	AppToken  string     `json:"app_token"`
	BotUserID string     `json:"bot_user_id"`
	Verify    string     `json:"verification_token"`
	Created   int64      `json:"created"`
	Users     []*user    `json:"users"`
	Channels  []*channel `json:"channels"`
}

// newSeed makes up a workspace: alice, who owns it, bob, mallory and the app's
// bot; #general and #ops with all of them; and a direct message of each person
// with the bot.
func newSeed(cfg Config, now time.Time) seed {
	botName := cfg.BotName
	if botName == "" && len(cfg.Manifests) > 0 {
		botName = handle(cfg.Manifests[0].BotName)
	}
	botName = cmp.Or(botName, "mecha")
	team := cmp.Or(cfg.TeamName, "Local workspace")
	sd := seed{
		TeamID: newID("T0", 9), TeamName: team, Domain: domainOf(team),
		AppID: newID("A0", 9), Verify: newSecret(12), Created: now.Unix(),
	}
	numbers := newDigits(13) + "-" + newDigits(13)
	person := func(name, real string, owner bool) *user {
		return &user{ID: newID("U0", 9), Name: name, RealName: real, Owner: owner,
			Token: "xoxp-" + numbers + "-" + newDigits(13) + "-" + newSecret(16)}
	}
	bot := &user{ID: newID("U0", 9), Name: botName, RealName: botName, Bot: true, BotID: newID("B0", 9), AppID: sd.AppID,
		Token: "xoxb-" + numbers + "-" + newSecret(12)}
	people := []*user{
		person("alice", "Alice Adams", true),
		person("bob", "Bob Brown", false),
		person("mallory", "Mallory Moore", false),
	}
	sd.BotUserID = bot.ID
	sd.AppToken = "xapp-1-" + sd.AppID + "-" + newDigits(13) + "-" + newSecret(32)
	sd.Users = append(people, bot)

	var everyone []string
	for _, u := range sd.Users {
		everyone = append(everyone, u.ID)
	}
	public := func(name, topic string) {
		sd.Channels = append(sd.Channels, &channel{ID: newID("C0", 9), Name: name, Topic: topic,
			Created: sd.Created, Creator: people[0].ID, Members: everyone})
	}
	public("general", "Everyone is here")
	public("ops", "Things that run")
	for _, p := range people {
		sd.Channels = append(sd.Channels, &channel{ID: newID("D0", 9), IM: true,
			Created: sd.Created, Creator: p.ID, Members: []string{p.ID, bot.ID}})
	}
	return sd
}

// handle is a name as one mentions it.
func handle(name string) string { return strings.ToLower(strings.Join(strings.Fields(name), "-")) }

func domainOf(team string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, team), "-")
}
