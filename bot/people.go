package bot

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// Role is what a person may do here.
type Role string

const (
	Owner    Role = "owner"    // drives and decides
	Approver Role = "approver" // decides the tools that they are named for
	Stranger Role = "stranger"
)

// Person is an owner or approver of one team.
type Person struct {
	Team, User string
	Role       Role
	Name       string
	Zone       string
	DM         string
}

// People is the list of who may do what. It needs no Slack: the terminal binds
// and lists with it as well.
type People struct {
	DB *record.DB
	// Approvers of the configuration: user → tools ("*": all).
	Approvers map[string][]string
}

// Role of a user; a stranger where nobody bound or named them.
func (p People) Role(ctx context.Context, team, user string) (Role, error) {
	if user == "" {
		return Stranger, nil
	}
	var list []Person
	err := p.DB.Read(ctx, func(tx *record.Tx) (err error) {
		list, err = record.Collect(tx, scanPerson, qPersonGet, team, user)
		return err
	})
	switch {
	case err != nil:
		return Stranger, fmt.Errorf("cannot look up who %s is: %w", user, err)
	case len(list) > 0:
		return list[0].Role, nil
	case len(p.Approvers[user]) > 0:
		return Approver, nil
	}
	return Stranger, nil
}

// Decides tells whether a person may decide about a tool.
func (p People) Decides(ctx context.Context, team, user, tool string) (bool, error) {
	r, err := p.Role(ctx, team, user)
	if err != nil || r == Owner {
		return r == Owner, err
	}
	named := p.Approvers[user]
	return r == Approver && (slices.Contains(named, "*") || slices.Contains(named, tool)), nil
}

// Owners of a team, oldest first; team "" = all.
func (p People) Owners(ctx context.Context, team string) (list []Person, err error) {
	err = p.DB.Read(ctx, func(tx *record.Tx) error {
		all, err := record.Collect(tx, scanPerson, qOwners)
		list = nil
		for _, o := range all {
			if team == "" || o.Team == team {
				list = append(list, o)
			}
		}
		return err
	})
	return list, err
}

// Bind makes a person an owner (or approver); by says how: code, seed, config.
func (p People) Bind(ctx context.Context, who Person, by string) error {
	return p.DB.Write(ctx, func(tx *record.Tx) error { return bind(tx, who, by) })
}

func bind(tx *record.Tx, who Person, by string) error {
	_, err := tx.Exec(qPersonPut, who.Team, who.User, who.Role, who.Name, who.Zone, who.DM, by, tx.NowMS())
	return err
}

// Unbind takes a person's rights away; false: they had none.
func (p People) Unbind(ctx context.Context, team, user string) (bool, error) {
	var n int64
	err := p.DB.Write(ctx, func(tx *record.Tx) (err error) {
		n, err = tx.Exec(qPersonRemove, tx.NowMS(), team, user)
		return err
	})
	return n > 0, err
}

// alphabet of link codes: nothing that looks like something else.
const alphabet = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

const (
	codeLength = 10
	codeLife   = 10 * time.Minute
	codeTries  = 5
)

// NewCode makes a one-time code that binds whoever sends it to the bot, and
// keeps its hash only.
func (p People) NewCode(ctx context.Context) (code string, expires time.Time, err error) {
	b := make([]byte, codeLength)
	rand.Read(b)
	for i := range b {
		b[i] = alphabet[int(b[i])%len(alphabet)]
	}
	sum := sha256.Sum256(b)
	err = p.DB.Write(ctx, func(tx *record.Tx) error {
		expires = tx.Now().Add(codeLife)
		_, err := tx.Exec(qCodeInsert, sum[:], expires.UnixMilli(), tx.NowMS())
		return err
	})
	return string(b), expires, err
}

// ErrNoCode: the text is not a code that is open.
var ErrNoCode = errors.New("this is not a code that is open; make a new one with `mecha-slack link`")

// Redeem binds a person as owner if text is an open code. Every wrong try
// counts against every open code, so that guessing ends after a few.
func (p People) Redeem(ctx context.Context, who Person, text string) error {
	sum := sha256.Sum256([]byte(strings.ToUpper(strings.TrimSpace(text))))
	good := false
	err := p.DB.Write(ctx, func(tx *record.Tx) error {
		good = false
		codes, err := record.Collect(tx, scanCode, qCodesOpen, tx.NowMS(), codeTries)
		if err != nil {
			return err
		}
		for _, c := range codes {
			if subtle.ConstantTimeCompare(c.hash, sum[:]) == 1 {
				good = true
				if _, err := tx.Exec(qCodeUse, who.User, c.id); err != nil {
					return err
				}
			}
		}
		if !good {
			_, err := tx.Exec(qCodeTry, tx.NowMS())
			return err
		}
		who.Role = Owner
		return bind(tx, who, "code")
	})
	if err == nil && !good {
		err = ErrNoCode
	}
	return err
}

// looksLikeCode tells whether a stranger's words may be a code: only then is
// the record asked.
func looksLikeCode(text string) bool {
	text = strings.ToUpper(strings.TrimSpace(text))
	if len(text) != codeLength {
		return false
	}
	for _, r := range text {
		if !strings.ContainsRune(alphabet, r) {
			return false
		}
	}
	return true
}

func (b *Bot) people() People { return People{DB: b.DB, Approvers: b.cfg.Approvers} }

func (b *Bot) role(ctx context.Context, team, user string) (Role, error) {
	return b.people().Role(ctx, team, user)
}
