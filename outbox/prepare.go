package outbox

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mecha-slack/mecha-slack/internal/jail"
	"github.com/mecha-slack/mecha-slack/tools"
)

// maxArgs bounds a draft's arguments: what nobody can read whole is not drafted.
const maxArgs = 200 << 10

// Prepared is what a staging needs that takes longer than a transaction may.
type Prepared struct{ Files []File }

// Prepare hashes the files that the arguments name, and refuses what may not
// be drafted at all: more than 200 KB, or a loaded secret.
func (o *Outbox) Prepare(ctx context.Context, t tools.Tool, args json.RawMessage, j *jail.Jail) (Prepared, error) {
	if len(args) > maxArgs {
		return Prepared{}, fmt.Errorf("the arguments are %d bytes long; a draft holds at most %d, since somebody has to read all of it. Write the long part to a file and attach that", len(args), maxArgs)
	}
	if o.Secret != nil && o.Secret(string(args)) {
		return Prepared{}, fmt.Errorf("the arguments hold a secret that mecha-slack was started with (a token or a key); it is never put into a draft")
	}
	files, err := o.files(ctx, t, args, j)
	return Prepared{Files: files}, err
}

// files hashes each file that an argument names: the arguments that the tool's
// hints or a policy name, else any string with a separator or an extension that
// resolves in the jail.
func (o *Outbox) files(ctx context.Context, t tools.Tool, args json.RawMessage, j *jail.Jail) ([]File, error) {
	list := []File{}
	if j == nil {
		return list, nil
	}
	named := o.cfg.policy(t.Name()).Files
	if h, ok := t.(tools.Addressed); ok {
		named = append(slices.Clone(named), h.Hints().Files...)
	}
	var err error
	seen := map[string]bool{}
	walkStrings(args, func(path []string, s string) {
		if err != nil || ctx.Err() != nil || seen[s] || len(s) > 1024 {
			return
		}
		must := slices.Contains(named, path[0])
		if !must && (!strings.ContainsAny(s, "/.") || strings.ContainsAny(s, "\n\r@ ") || strings.Contains(s, "://")) {
			return
		}
		seen[s] = true
		sum, size, e := j.Hash(s)
		switch {
		case e == nil:
			list = append(list, File{Path: s, Bytes: size, SHA256: hex.EncodeToString(sum[:])})
		case must && jail.ReasonOf(e) != jail.IsDir:
			err = fmt.Errorf("`%s`: %w", path[0], e)
		}
	})
	if err == nil {
		err = ctx.Err()
	}
	return list, err
}

// walkStrings visits each string of a JSON object with the path to it.
func walkStrings(args json.RawMessage, fn func(path []string, s string)) {
	var v any
	if json.Unmarshal(args, &v) != nil {
		return
	}
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		switch v := v.(type) {
		case string:
			if len(path) > 0 {
				fn(path, v)
			}
		case []any:
			for _, e := range v {
				walk(path, e)
			}
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(append(slices.Clone(path), k), v[k])
			}
		}
	}
	walk(nil, v)
}
