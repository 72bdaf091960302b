package child

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// Piped is a child that is talked to over its standard input and output. Both are files, so nothing of ours copies in
// between, and waiting for the child never loses what it wrote last: read Stdout to its end, whenever that comes.
type Piped struct {
	*Proc
	Stdin  *os.File // our end; writes go to the child
	Stdout *os.File // our end; reads come from the child

	stdinOnce sync.Once
	stdinErr  error
}

// StartPiped is Start with both pipes. Spec.Stdin and Spec.Stdout must be nil. The caller owes a Close.
func StartPiped(ctx context.Context, s Spec) (*Piped, error) {
	if s.Stdin != nil || s.Stdout != nil {
		return nil, fmt.Errorf("starting %s: a piped child has no other stdin or stdout", s.Path)
	}
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", s.Path, err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		_, _ = inR.Close(), inW.Close()
		return nil, fmt.Errorf("starting %s: %w", s.Path, err)
	}
	s.Stdin, s.Stdout = inR, outW
	p, err := Start(ctx, s)
	// The child holds its own copies; ours would keep the pipes open after it is gone.
	_, _ = inR.Close(), outW.Close()
	if err != nil {
		_, _ = inW.Close(), outR.Close()
		return nil, err
	}
	return &Piped{Proc: p, Stdin: inW, Stdout: outR}, nil
}

// CloseStdin tells the child that nothing more will come. It may be called twice.
func (p *Piped) CloseStdin() error {
	p.stdinOnce.Do(func() { p.stdinErr = p.Stdin.Close() })
	return p.stdinErr
}

// Close ends the child politely: its input is closed, and it has the grace to leave by itself before Stop's ladder
// begins. It returns once the child is reaped and our ends are closed; whoever reads Stdout gets os.ErrClosed.
func (p *Piped) Close() error {
	err := p.CloseStdin()
	t := time.NewTimer(p.grace)
	defer t.Stop()
	select {
	case <-p.Done():
	case <-t.C:
		p.Stop()
		<-p.Done()
	}
	if cerr := p.Stdout.Close(); !errors.Is(cerr, os.ErrClosed) {
		err = errors.Join(err, cerr)
	}
	return err
}
