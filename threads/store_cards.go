package threads

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
	"github.com/mecha-slack/mecha-slack/tools"
)

// ---- approvals

const qApprovalInsert = `INSERT INTO approvals (call, thread, run, tool, args, digest, why, forced, scope, facts, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'pending', ?) ON CONFLICT (call) DO NOTHING`

const qApprovalGet = `SELECT call, thread, run, tool, args, digest, why, forced, scope, facts, state, by, reason, waited, version, created, decided FROM approvals WHERE call = ?`

const qApprovalsPending = `SELECT call, thread, run, tool, args, digest, why, forced, scope, facts, state, by, reason, waited, version, created, decided FROM approvals WHERE state = 'pending' ORDER BY created`

const qApprovalDecide = `UPDATE approvals SET state = ?, by = ?, reason = ?, decided = ?, version = version + 1 WHERE call = ? AND state = 'pending' AND digest = ?`

const qApprovalWaited = `UPDATE approvals SET waited = ? WHERE call = ? AND state = 'pending'`

const qApprovalsVoid = `UPDATE approvals SET state = 'void', reason = ?, decided = ?, version = version + 1 WHERE run = ? AND state = 'pending'`

const qGrantInsert = `INSERT INTO grants (run, tool, scope, pin, by, created) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

const qGrantUse = `UPDATE grants SET uses = uses + 1 WHERE run = ? AND tool = ? AND scope = ? AND pin = ? RETURNING by`

const qGrantsDrop = `DELETE FROM grants WHERE run = ?`

// Approval is a call that asks a person, as its card shows it.
type Approval struct {
	Call    string
	Thread  string
	Run     string
	Tool    string
	Args    json.RawMessage
	Digest  string
	Why     string // of a forced prompt
	Forced  bool
	Scope   string // what "Allow for this run" covers, in words; "" = not offered
	Facts   Facts
	State   string // pending, approved, denied, unanswered, void
	By      string
	Reason  string
	Waited  time.Duration
	Version int64
	Created time.Time
	Decided time.Time
}

// Facts are what a card says of a call besides its input.
type Facts struct {
	Description  string              `json:"description,omitempty"`
	Server       string              `json:"server,omitempty"`
	Capabilities tools.Capabilities  `json:"capabilities"`
	Destinations []tools.Destination `json:"destinations,omitempty"`
	Workspace    string              `json:"workspace,omitempty"`
	Pin          string              `json:"pin,omitempty"`
	GrantScope   string              `json:"grant_scope,omitempty"`
}

func scanApproval(r record.Scanner) (a Approval, err error) {
	var args, facts string
	var waited, created int64
	var decided *int64
	if err = r.Scan(&a.Call, &a.Thread, &a.Run, &a.Tool, &args, &a.Digest, &a.Why, &a.Forced, &a.Scope, &facts, &a.State, &a.By, &a.Reason, &waited, &a.Version, &created, &decided); err != nil {
		return a, err
	}
	a.Args, a.Waited, a.Created = json.RawMessage(args), time.Duration(waited)*time.Millisecond, record.Time(created)
	if decided != nil {
		a.Decided = record.Time(*decided)
	}
	return a, json.Unmarshal([]byte(facts), &a.Facts)
}

func getApproval(tx *record.Tx, call string) (a Approval, ok bool, err error) {
	list, err := record.Collect(tx, scanApproval, qApprovalGet, call)
	if err != nil || len(list) == 0 {
		return a, false, err
	}
	return list[0], true, nil
}

// ---- questions

const qQuestionInsert = `INSERT INTO questions (id, thread, run, call, question, options, tainted, state, created) VALUES (?, ?, ?, ?, ?, ?, ?, 'open', ?) ON CONFLICT DO NOTHING`

const qQuestionGet = `SELECT id, thread, run, call, question, options, tainted, state, answer, by, version, created, resolved FROM questions WHERE id = ?`

const qQuestionsOpen = `SELECT id, thread, run, call, question, options, tainted, state, answer, by, version, created, resolved FROM questions WHERE state = 'open' ORDER BY created`

const qQuestionResolve = `UPDATE questions SET state = ?, answer = ?, by = ?, resolved = ?, version = version + 1 WHERE id = ? AND state = 'open'`

const qQuestionsAnswer = `UPDATE questions SET state = 'answered', answer = ?, by = ?, resolved = ?, version = version + 1 WHERE thread = ? AND state = 'open'`

// Question is what ask_user asked, and what was answered.
type Question struct {
	ID       string
	Thread   string
	Run      string
	Call     string
	Text     string
	Options  []string
	Tainted  bool
	State    string // open, answered, abandoned
	Answer   string
	By       string
	Version  int64
	Created  time.Time
	Resolved time.Time
}

func scanQuestion(r record.Scanner) (q Question, err error) {
	var options string
	var created int64
	var resolved *int64
	if err = r.Scan(&q.ID, &q.Thread, &q.Run, &q.Call, &q.Text, &options, &q.Tainted, &q.State, &q.Answer, &q.By, &q.Version, &created, &resolved); err != nil {
		return q, err
	}
	q.Created = record.Time(created)
	if resolved != nil {
		q.Resolved = record.Time(*resolved)
	}
	return q, json.Unmarshal([]byte(options), &q.Options)
}

func getQuestion(tx *record.Tx, id string) (Question, error) {
	list, err := record.Collect(tx, scanQuestion, qQuestionGet, id)
	if err != nil {
		return Question{}, fmt.Errorf("cannot read question %s: %w", id, err)
	}
	if len(list) == 0 {
		return Question{}, fmt.Errorf("question %s: %w", id, ErrNotFound)
	}
	return list[0], nil
}

// ---- posts and tokens

const qPostInsert = `INSERT INTO posts (thread, kind, ref, team, channel, thread_ts, ts, state, body, want, created, updated) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?)`

const qPostGet = `SELECT id, thread, kind, ref, team, channel, thread_ts, ts, state, body, want, shown, tries, error, created FROM posts WHERE id = ?`

const qPostsDue = `SELECT id, thread, kind, ref, team, channel, thread_ts, ts, state, body, want, shown, tries, error, created FROM posts WHERE want > shown AND state <> 'gone' ORDER BY id LIMIT ?`

const qPostsOf = `SELECT id, thread, kind, ref, team, channel, thread_ts, ts, state, body, want, shown, tries, error, created FROM posts WHERE kind = ? AND ref = ? ORDER BY id`

const qStreamsOpen = `SELECT id, thread, kind, ref, team, channel, thread_ts, ts, state, body, want, shown, tries, error, created FROM posts WHERE want > shown AND state <> 'gone' AND kind = 'stream' ORDER BY id`

const qPostUpdate = `UPDATE posts SET ts = ?, state = ?, body = ?, shown = max(shown, ?), tries = ?, error = ?, channel = ?, thread_ts = ?, updated = ? WHERE id = ?`

const qPostWant = `UPDATE posts SET want = want + 1 WHERE kind = ? AND ref = ?`

const qTokenInsert = `INSERT INTO tokens (token, post, kind, ref, revision, digest, choices, channel, ts, view, user, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

const qTokenPlace = `UPDATE tokens SET channel = ?, ts = ?, view = ? WHERE token = ?`

const qTokenGet = `SELECT token, post, kind, ref, revision, digest, choices, channel, ts, view, user FROM tokens WHERE token = ?`

const qTokensDrop = `DELETE FROM tokens WHERE kind = (SELECT kind FROM posts WHERE posts.id = ?1) AND ref = (SELECT ref FROM posts WHERE posts.id = ?1) AND post = ?1 AND token <> ?2`

const qTokensOld = `DELETE FROM tokens WHERE created < ? AND post = 0`

func scanPost(r record.Scanner) (p Post, err error) {
	var body string
	var created int64
	err = r.Scan(&p.ID, &p.Thread, &p.Kind, &p.Ref, &p.Place.Team, &p.Place.Channel, &p.Place.ThreadTS, &p.TS, &p.State, &body, &p.Want, &p.Shown, &p.Tries, &p.Error, &created)
	p.Body, p.Created = json.RawMessage(body), record.Time(created)
	return p, err
}

func insertPost(tx *record.Tx, p Post) (int64, error) {
	if p.State == "" {
		p.State = PostIntent
	}
	if len(p.Body) == 0 {
		p.Body = json.RawMessage(`{}`)
	}
	id, err := tx.Insert(qPostInsert, p.Thread, p.Kind, p.Ref, p.Place.Team, p.Place.Channel, p.Place.ThreadTS, p.TS, p.State, string(p.Body), tx.NowMS(), tx.NowMS())
	if err != nil {
		return 0, fmt.Errorf("cannot note a post: %w", err)
	}
	return id, nil
}

func getPost(tx *record.Tx, id int64) (Post, error) {
	list, err := record.Collect(tx, scanPost, qPostGet, id)
	if err != nil {
		return Post{}, fmt.Errorf("cannot read post %d: %w", id, err)
	}
	if len(list) == 0 {
		return Post{}, fmt.Errorf("post %d: %w", id, ErrNotFound)
	}
	return list[0], nil
}

func duePosts(tx *record.Tx, limit int) ([]Post, error) {
	return record.Collect(tx, scanPost, qPostsDue, limit)
}

func postsOf(tx *record.Tx, kind PostKind, ref string) ([]Post, error) {
	return record.Collect(tx, scanPost, qPostsOf, kind, ref)
}

func openStreams(tx *record.Tx) ([]Post, error) {
	return record.Collect(tx, scanPost, qStreamsOpen)
}

func updatePost(tx *record.Tx, p Post) error {
	if len(p.Body) == 0 {
		p.Body = json.RawMessage(`{}`)
	}
	n, err := tx.Exec(qPostUpdate, p.TS, p.State, string(p.Body), p.Shown, p.Tries, p.Error, p.Place.Channel, p.Place.ThreadTS, tx.NowMS(), p.ID)
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("cannot note post %d: %w", p.ID, err)
	}
	return nil
}

func insertToken(tx *record.Tx, k Token) error {
	choices, err := json.Marshal(append([]string{}, k.Choices...))
	if err != nil {
		return err
	}
	_, err = tx.Exec(qTokenInsert, k.Token, k.Post, k.Kind, k.Ref, k.Revision, k.Digest, string(choices), k.Channel, k.TS, k.View, k.User, tx.NowMS())
	return err
}

func placeToken(tx *record.Tx, token, channel, ts, view string) error {
	_, err := tx.Exec(qTokenPlace, channel, ts, view, token)
	return err
}

func getToken(tx *record.Tx, token string) (k Token, err error) {
	var choices string
	err = tx.Row(qTokenGet, []any{token}, &k.Token, &k.Post, &k.Kind, &k.Ref, &k.Revision, &k.Digest, &choices, &k.Channel, &k.TS, &k.View, &k.User)
	if err != nil {
		return k, notFound("button", err)
	}
	return k, json.Unmarshal([]byte(choices), &k.Choices)
}

func dropTokens(tx *record.Tx, post int64, keep string) error {
	_, err := tx.Exec(qTokensDrop, post, keep)
	return err
}
