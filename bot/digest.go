package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/outbox"
	"github.com/mecha-slack/mecha-slack/threads"
)

// waiting reads what waits for a person: everything of the team for an owner,
// an approver's decisions for an approver. Fires are those of the night before
// until.
func (d desk) waiting(ctx context.Context, team, user string, until time.Time) (waiting, error) {
	w := waiting{Now: d.now()}
	role, err := d.slack.role(ctx, team, user)
	if err != nil {
		return w, err
	}
	p := presser{Press: Press{Team: team, User: user}, role: role}
	drafts, err := d.outbox.List(ctx, outbox.Filter{Team: team})
	if err != nil {
		return w, err
	}
	for _, dr := range drafts {
		switch {
		case !d.decides(p, dr.Tool):
		case dr.State == outbox.Uncertain:
			w.Uncertain = append(w.Uncertain, dr)
		default:
			w.Drafts = append(w.Drafts, dr)
		}
	}
	calls, err := d.threads.PendingApprovals(ctx)
	if err != nil {
		return w, err
	}
	for _, a := range calls {
		if strings.HasPrefix(a.Thread, team+"/") && d.decides(p, a.Tool) {
			w.Calls = append(w.Calls, a)
		}
	}
	if role != Owner {
		return w, nil
	}
	if w.Questions, err = d.questions(ctx, team); err != nil {
		return w, err
	}
	if w.Forms, err = d.serverAsks(ctx, team); err != nil {
		return w, err
	}
	if w.Rules, err = d.outbox.WritingRules(ctx, outbox.RuleProposed); err != nil || d.triggers == nil {
		return w, err
	}
	list, err := d.triggers.List(ctx)
	if err != nil {
		return w, err
	}
	digests := map[string]bool{}
	for _, t := range list {
		digests[t.Name] = t.Kind == "digest"
		if t.State == "proposed" && (t.ProposedIn == "" || strings.HasPrefix(t.ProposedIn, team+"/")) {
			w.Proposals = append(w.Proposals, t)
		}
	}
	fires, err := d.triggers.Runs(ctx, "", until.Add(-night), 200)
	for _, f := range fires {
		if !digests[f.Trigger] && !f.Started.After(until) {
			w.Fires = append(w.Fires, f)
		}
	}
	return w, err
}

// questions answers a team's open questions, oldest first.
func (d desk) questions(ctx context.Context, team string) ([]threads.Question, error) {
	all, err := d.threads.OpenQuestions(ctx)
	var list []threads.Question
	for _, q := range all {
		if strings.HasPrefix(q.Thread, team+"/") {
			list = append(list, q)
		}
	}
	return list, err
}

// serverAsks answers the questions of MCP servers in a team's threads.
func (d desk) serverAsks(ctx context.Context, team string) (list []serverAsks, err error) {
	all, err := d.threads.OpenForms(ctx)
	for _, f := range all {
		if f.Place.Team == team {
			list = append(list, serverAsks{f, linked(d.url, f.Place, "the card in its thread")})
		}
	}
	return list, err
}

// digestNow posts the digest of what waits for user into channel, or their DM
// where it is empty. Where nothing waits it says so only if always is set (it
// was typed), or the configuration wants it.
func (b *Bot) digestNow(ctx context.Context, team, user, channel string, always bool) error {
	now := b.Now()
	w, err := b.desk().waiting(ctx, team, user, now)
	if err != nil {
		return fmt.Errorf("cannot gather the digest: %w", err)
	}
	if w.empty() && !always && b.cfg.DigestWhenEmpty != "say" {
		return nil
	}
	if channel == "" {
		if channel, err = b.dm(ctx, user); err != nil {
			return fmt.Errorf("cannot reach %s for the digest: %w", user, err)
		}
	}
	body, err := encodeJSON(digestBody{User: user, Morning: !always})
	if err != nil {
		return err
	}
	_, err = b.Threads.AddPost(ctx, threads.Post{
		Kind: threads.PostDigest, Ref: digestRef(now), Body: body,
		Place: threads.Place{Team: team, Channel: channel},
	})
	b.kick()
	return err
}

// digestRef is the day that a digest is of.
func digestRef(t time.Time) string { return t.Format("2006-01-02") }

// Digest is digestNow for every owner of the team, by the clock: into the
// configured channel, or each one's DM.
func (b *Bot) Digest(ctx context.Context) error {
	owners, err := b.people().Owners(ctx, b.me.Team)
	if err != nil {
		return err
	}
	for i, o := range owners {
		if b.cfg.DigestChannel != "" && i > 0 {
			break // one message in a shared channel
		}
		if err := b.digestNow(ctx, o.Team, o.User, b.cfg.DigestChannel, false); err != nil {
			return err
		}
	}
	return nil
}

// Following is what has to be rendered again when anything on the record
// changes, from whichever process: the digests of today and yesterday, and the
// Home tabs that were opened lately.
const (
	followPause = time.Second // between looks, so that a busy record costs little
	homeLife    = time.Hour   // a tab that nobody has opened for so long is left alone
)

// follow keeps digests and Home tabs like the record until ctx ends.
func (b *Bot) follow(ctx context.Context) {
	changed, cancel := b.DB.Subscribe()
	defer cancel()
	shown := map[int64]string{}
	copies := newApproverCopies()
	b.followPins(ctx)
	b.followApprovers(ctx, copies)
	b.followHomes(ctx)
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		pause := time.NewTimer(followPause)
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return
		}
		b.followDigests(ctx, shown)
		b.followHomes(ctx)
		b.followPins(ctx)
		b.followApprovers(ctx, copies)
	}
}

// followDigests asks for a digest to be rendered again when what waits is not
// what it was.
func (b *Bot) followDigests(ctx context.Context, shown map[int64]string) {
	now := b.Now()
	for _, ref := range []string{digestRef(now.Add(-night)), digestRef(now)} {
		posts, err := b.Threads.PostsOf(ctx, threads.PostDigest, ref)
		if err != nil {
			return
		}
		for _, p := range posts {
			if p.State != threads.PostPosted {
				continue
			}
			v, err := b.digestView(ctx, p)
			if err != nil {
				continue
			}
			mark := v.mark()
			was, known := shown[p.ID]
			shown[p.ID] = mark
			if known && was != mark {
				b.desk().redraw(ctx, threads.PostDigest, ref)
			}
		}
	}
}
