package agent

import (
	"fmt"
	"io"

	"github.com/mecha-slack/mecha-slack/tools"
)

// maxPicture is what providers take of one picture.
const maxPicture = 5 << 20

// look reads the pictures of a message out of the workspace, and arms what they
// bring: the owner's own private thing, and words in it that somebody else may
// have written. It is read off the message itself, so that no front can forget
// it.
func (l *loop) look(m *Message) {
	if len(m.Images) == 0 {
		return
	}
	m.Images = append([]Image(nil), m.Images...)
	for i := range m.Images {
		p := &m.Images[i]
		what := "the attached picture " + oneLine(p.Path, 60)
		for _, leg := range []tools.Leg{tools.Private, tools.Untrusted} {
			if _, armed := l.taint.First(leg); !armed {
				l.taint.Add(tools.Mark{Leg: leg, What: what, Turn: m.Turn})
			}
		}
		if len(p.Data) > 0 || l.Env == nil {
			continue
		}
		data, err := l.picture(p.Path)
		if err != nil { // the adapter says in words that it is not there
			l.Log.Warn("cannot read a picture", "path", p.Path, "error", err)
			continue
		}
		p.Data = data
	}
}

func (l *loop) picture(path string) ([]byte, error) {
	env := l.Env("", l.turn, l.taint.Held())
	if env.Workspace == nil {
		return nil, fmt.Errorf("this run has no workspace")
	}
	f, err := env.Workspace.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = fmt.Errorf("%s is larger than %d MB", path, maxPicture>>20)
	}
	if err != nil {
		return nil, err
	}
	return data, nil
}
