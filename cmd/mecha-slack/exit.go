package main

import "fmt"

// exitCode is an error that knows how the process ends.
type exitCode struct {
	code   int
	silent bool // what there was to say has been said
	err    error
}

func (e exitCode) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}
func (e exitCode) Unwrap() error { return e.err }

// usagef is exit 2: the command was called wrongly.
func usagef(format string, a ...any) error {
	return exitCode{code: 2, err: fmt.Errorf(format, a...)}
}

// refused is exit 3: policy or state says no (already decided, an ambiguous id,
// a held lock).
func refused(err error) error { return exitCode{code: 3, err: err} }

func refusedf(format string, a ...any) error { return refused(fmt.Errorf(format, a...)) }
