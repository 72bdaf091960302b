package mcp

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A deadline stands while a person is asked, and begins anew after it.
func TestClocksStandWhileSomebodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c clocks
		late := errors.New("late")
		ctx, stop := c.start(t.Context(), time.Minute, late)
		defer stop()
		time.Sleep(50 * time.Second)
		release := c.hold()
		other, stopOther := c.start(t.Context(), time.Minute, late)
		defer stopOther()
		again := c.hold()
		time.Sleep(time.Hour)
		release()
		time.Sleep(time.Hour)
		if ctx.Err() != nil || other.Err() != nil {
			t.Fatal("a deadline passed while somebody was asked")
		}
		again()
		time.Sleep(59 * time.Second)
		if ctx.Err() != nil {
			t.Fatal("the clock did not begin anew")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if context.Cause(ctx) != late || context.Cause(other) != late {
			t.Errorf("%v, %v", context.Cause(ctx), context.Cause(other))
		}
	})
}
