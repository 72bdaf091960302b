package localslack

import (
	"net/http"
	"strings"
)

func apiTest(c *call) (result, error) {
	if e := c.args.str("error"); e != "" {
		return nil, &apiError{code: e, extra: map[string]any{"args": c.args.loggable()}}
	}
	return result{"args": c.args.loggable()}, nil
}

func authTest(c *call) (result, error) {
	s := c.w.store
	res := result{"url": c.w.base + "/", "team": s.TeamName, "team_id": s.TeamID, "is_enterprise_install": false}
	if c.who.kind == appToken {
		res["app_id"], res["app_name"] = c.who.app.id, c.who.app.manifest.Name
		return res, nil
	}
	res["user"], res["user_id"] = c.who.user.Name, c.me()
	if c.who.user.Bot {
		res["bot_id"] = c.who.user.BotID
	}
	return res, nil
}

func teamInfo(c *call) (result, error) {
	s := c.w.store
	if id := c.args.str("team"); id != "" && id != s.TeamID {
		return nil, fail("team_not_found")
	}
	return result{"team": map[string]any{"id": s.TeamID, "name": s.TeamName, "domain": s.Domain, "url": c.w.base + "/",
		"email_domain": "", "icon": map[string]any{"image_default": true}}}, nil
}

func botsInfo(c *call) (result, error) {
	id := c.args.str("bot")
	if id == "" && c.who.kind == botToken {
		id = c.who.user.BotID
	}
	if id == "" {
		return nil, fail("missing_argument")
	}
	for _, bot := range c.w.store.roster {
		if bot.BotID == id {
			return result{"bot": map[string]any{"id": bot.BotID, "deleted": false, "name": bot.Name, "updated": c.w.store.Created,
				"app_id": bot.AppID, "user_id": bot.ID, "icons": map[string]string{}}}, nil
		}
	}
	return nil, fail("bot_not_found")
}

// wireUser is a user object as the API gives it.
func (s *store) wireUser(u *user) map[string]any {
	profile := map[string]any{"real_name": u.RealName, "real_name_normalized": u.RealName, "display_name": u.Name,
		"display_name_normalized": u.Name, "team": s.TeamID, "title": "", "phone": "", "skype": "", "status_text": "", "status_emoji": "",
		"avatar_hash": "", "fields": nil}
	if u.Bot {
		profile["bot_id"], profile["api_app_id"], profile["always_active"] = u.BotID, u.AppID, true
	} else {
		profile["email"] = u.email()
	}
	return map[string]any{"id": u.ID, "team_id": s.TeamID, "name": u.Name, "real_name": u.RealName, "deleted": false, "color": "9f69e7",
		"tz": "Etc/UTC", "tz_label": "Coordinated Universal Time", "tz_offset": 0, "profile": profile,
		"is_admin": u.Owner, "is_owner": u.Owner, "is_primary_owner": u.Owner, "is_restricted": false, "is_ultra_restricted": false,
		"is_bot": u.Bot, "is_app_user": false, "is_email_confirmed": !u.Bot, "has_2fa": false, "is_stranger": false,
		"updated": s.Created, "who_can_share_contact_card": "EVERYONE"}
}

func (u *user) email() string { return u.Name + "@example.com" }

func usersInfo(c *call) (result, error) {
	u := c.w.store.users[c.args.str("user")]
	if u == nil {
		return nil, fail("user_not_found")
	}
	return result{"user": c.w.store.wireUser(u)}, nil
}

func usersList(c *call) (result, error) {
	part, next, err := paged(c, c.w.store.roster, 200, 1000)
	if err != nil {
		return nil, err
	}
	out := make([]any, 0, len(part))
	for _, u := range part {
		out = append(out, c.w.store.wireUser(u))
	}
	return result{"members": out, "cache_ts": c.w.cfg.Now().Unix(), "response_metadata": map[string]any{"next_cursor": next}}, nil
}

func usersLookup(c *call) (result, error) {
	for _, u := range c.w.store.roster {
		if !u.Bot && strings.EqualFold(u.email(), c.args.str("email")) {
			return result{"user": c.w.store.wireUser(u)}, nil
		}
	}
	return nil, fail("users_not_found")
}

// signIn is where a file's address leads those without a token: HTML, HTTP 200,
// which many an app has stored as if it were the file.
func signIn(rw http.ResponseWriter, _ *http.Request) {
	rw.Header().Set("Content-Type", "text/html; charset=utf-8")
	rw.Write([]byte("<!DOCTYPE html><html lang=\"en\"><title>Sign in</title><body><h1>Sign in to this workspace</h1>" +
		"<p>This file needs a token with files:read.</p></body></html>"))
}
