package outbox

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/tools"
)

// maxArgs bounds a draft's arguments: what nobody can read whole is not drafted.
const maxArgs = 200 << 10

// Prepared is what a staging needs that takes longer than a transaction may.
type Prepared struct{ Files []File }

// Prepare hashes the files that the arguments name, in the directory where the
// tool would run, and refuses what may not be drafted at all: more than 200 KB,
// a loaded secret, or an argument for the idempotency key that the tool does
// not take.
func (o *Outbox) Prepare(ctx context.Context, t tools.Tool, args json.RawMessage, j *jail.Jail) (Prepared, error) {
	if len(args) > maxArgs {
		return Prepared{}, fmt.Errorf("the arguments are %d bytes long; a draft holds at most %d, since somebody has to read all of it. Write the long part to a file and attach that", len(args), maxArgs)
	}
	if o.Secret != nil && o.holdsSecret(args) {
		return Prepared{}, fmt.Errorf("the arguments hold a secret that mecha-slack was started with (a token or a key); it is never put into a draft")
	}
	if err := takesKey(t, args, o.keyArg(t), keyOf(o.NewID(o.Now()))); err != nil {
		return Prepared{}, err
	}
	files, err := o.files(ctx, t, args, j)
	if err != nil {
		return Prepared{}, err
	}
	return Prepared{Files: files}, nil
}

// holdsSecret looks at the bytes and at each string as it will be read: an
// escape (\u0078) must not carry a token past.
func (o *Outbox) holdsSecret(args json.RawMessage) bool {
	found := o.Secret(string(args))
	walkStrings(args, func(_ []string, s string) { found = found || o.Secret(s) })
	return found
}
