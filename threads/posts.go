package threads

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// PostKind says what a post shows; its Ref says which.
type PostKind string

const (
	PostStream   PostKind = "stream"   // a run's answer; ref = run
	PostNote     PostKind = "note"     // a line of ours; body holds the text
	PostApproval PostKind = "approval" // ref = call
	PostDraft    PostKind = "draft"    // ref = draft
	PostQuestion PostKind = "question" // ref = question
	PostTrigger  PostKind = "trigger"  // a proposal; ref = trigger
	PostDigest   PostKind = "digest"   // ref = day
	PostLate     PostKind = "late"     // a message found late; ref = inbox id
)

// Post is something that stands, or shall stand, in Slack. The row is committed
// before the call that makes it visible; bot renders it from the record each
// time, so that a card is always what the rows say.
type Post struct {
	ID      int64
	Thread  string
	Kind    PostKind
	Ref     string
	Place   Place
	TS      string // once Slack has told it
	State   PostState
	Body    json.RawMessage
	Want    int64 // the rendering that is due
	Shown   int64 // the rendering that Slack has confirmed
	Tries   int
	Error   string
	Created time.Time
}

// PostState is how far a post has come.
type PostState string

const (
	PostIntent  PostState = "intent"  // not handed to Slack yet
	PostPosting PostState = "posting" // handed over; no answer yet
	PostPosted  PostState = "posted"
	PostClosed  PostState = "closed" // a stream that has its end
	PostGone    PostState = "gone"   // given up, or deleted by a person
)

// AddPost commits the intent of a post that belongs to no other transaction (a
// digest, a note).
func (t *Threads) AddPost(ctx context.Context, p Post) (id int64, err error) {
	err = t.db.Write(ctx, func(tx *record.Tx) error {
		id, err = insertPost(tx, p)
		return err
	})
	return id, err
}

// DuePosts answers posts that want to be rendered, oldest first: new ones, and
// cards whose rows have changed since they were shown.
func (t *Threads) DuePosts(ctx context.Context, limit int) (list []Post, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = duePosts(tx, limit)
		return err
	})
	return list, err
}

// Post answers one post by id.
func (t *Threads) Post(ctx context.Context, id int64) (p Post, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		p, err = getPost(tx, id)
		return err
	})
	return p, err
}

// PostsOf answers the posts that show ref, oldest first.
func (t *Threads) PostsOf(ctx context.Context, kind PostKind, ref string) (list []Post, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = postsOf(tx, kind, ref)
		return err
	})
	return list, err
}

// OpenStreams answers stream posts that have no end yet.
func (t *Threads) OpenStreams(ctx context.Context) (list []Post, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		list, err = openStreams(tx)
		return err
	})
	return list, err
}

// SetPost commits what is known of a post after a call to Slack: its state, ts,
// body, error, and which rendering Slack has confirmed. A post that was asked
// to be rendered again meanwhile stays due.
func (t *Threads) SetPost(ctx context.Context, p Post) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return updatePost(tx, p) })
}

// Token is what a button carries: random, one a rendering. A press counts only
// with its row, on the message or view that it was put on.
type Token struct {
	Token    string
	Post     int64 // 0: on a view
	Kind     string
	Ref      string
	Revision int
	Digest   string
	Choices  []string
	Channel  string
	TS       string
	View     string
	User     string // whose view
}

// PutToken commits the row of a button before the rendering that carries it.
func (t *Threads) PutToken(ctx context.Context, k Token) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return insertToken(tx, k) })
}

// PlaceToken tells where the rendering with this token came to stand.
func (t *Threads) PlaceToken(ctx context.Context, token, channel, ts, view string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return placeToken(tx, token, channel, ts, view) })
}

// TokenRow answers a button's row; ErrNotFound where nobody minted it.
func (t *Threads) TokenRow(ctx context.Context, token string) (k Token, err error) {
	err = t.db.Read(ctx, func(tx *record.Tx) error {
		k, err = getToken(tx, token)
		return err
	})
	return k, err
}

// DropTokens forgets the buttons of a post's earlier renderings.
func (t *Threads) DropTokens(ctx context.Context, post int64, keep string) error {
	return t.db.Write(ctx, func(tx *record.Tx) error { return dropTokens(tx, post, keep) })
}
