package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// noAnswer is why a question was not answered. Silence never decides.
type noAnswer string

const (
	errEOF     noAnswer = "standard input ended without an answer, which counts as no"
	errStopped noAnswer = "you stopped it, which counts as no"
)

func (e noAnswer) Error() string { return string(e) }

// Is makes every one of them an errEOF to who only asks whether there was an answer.
func (e noAnswer) Is(target error) bool { return target == errEOF }

// answers reads a person's lines. One reader serves a whole command: a second
// one would miss what the first has buffered.
type answers struct {
	c  *cli
	in *bufio.Reader
}

func (c *cli) answers() *answers { return &answers{c: c, in: bufio.NewReader(c.Stdin)} }

// ask prints a question and reads a line; errEOF where none comes. A line that
// its end cuts off does not count. ctx ends the waiting.
func (a *answers) ask(ctx context.Context, question string) (string, error) {
	fmt.Fprint(a.c.Stdout, question)
	type line struct {
		text string
		err  error
	}
	got := make(chan line, 1)
	// A read of a terminal cannot be called off; the process ends with it.
	go func() {
		s, err := a.in.ReadString('\n')
		got <- line{s, err}
	}()
	select {
	case l := <-got:
		if l.err != nil {
			fmt.Fprintln(a.c.Stdout)
			if errors.Is(l.err, io.EOF) {
				return "", errEOF
			}
			return "", fmt.Errorf("cannot read your answer: %w", l.err)
		}
		return strings.TrimSpace(l.text), nil
	case <-ctx.Done():
		fmt.Fprintln(a.c.Stdout)
		return "", errStopped
	}
}

// yes asks a question that only y or yes answers with yes.
func (a *answers) yes(ctx context.Context, question string) (bool, error) {
	s, err := a.ask(ctx, question+" [y/N] ")
	if err != nil {
		return false, err
	}
	s = strings.ToLower(s)
	return s == "y" || s == "yes", nil
}

// input reads all of standard input, and refuses more than most bytes. ctx ends
// the waiting.
func (c *cli) input(ctx context.Context, most int64) ([]byte, error) {
	type all struct {
		b   []byte
		err error
	}
	got := make(chan all, 1)
	go func() { // as in ask
		b, err := io.ReadAll(io.LimitReader(c.Stdin, most+1))
		got <- all{b, err}
	}()
	select {
	case in := <-got:
		if in.err == nil && int64(len(in.b)) > most {
			in.err = fmt.Errorf("it is longer than %d bytes", most)
		}
		return in.b, in.err
	case <-ctx.Done():
		return nil, errors.New("you stopped it before its end")
	}
}
