package threads

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestQueueIsFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{max: 1}
		if err := q.enter(t.Context(), "a"); err != nil {
			t.Fatal(err)
		}
		var order []string
		done := make(chan struct{})
		for _, k := range []string{"b", "c", "d"} {
			go func() {
				if err := q.enter(t.Context(), k); err != nil {
					t.Error(err)
				}
				order = append(order, k)
				q.leave()
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		if got := []int{q.place("b"), q.place("c"), q.place("d"), q.place("a")}; got[0] != 1 || got[1] != 2 || got[2] != 3 || got[3] != 0 {
			t.Errorf("places are %v", got)
		}
		q.leave()
		for range 3 {
			<-done
		}
		if order[0] != "b" || order[1] != "c" || order[2] != "d" {
			t.Errorf("served in order %v", order)
		}
		if q.running != 0 {
			t.Errorf("%d places are lost", q.running)
		}
	})
}

func TestACancelledWaitGivesItsPlaceOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := &queue{max: 1}
		q.enter(t.Context(), "a")
		gone := errors.New("stopped")
		ctx, cancel := context.WithCancelCause(t.Context())
		left := make(chan error, 1)
		go func() { left <- q.enter(ctx, "b") }()
		synctest.Wait()
		cancel(gone)
		if err := <-left; !errors.Is(err, gone) {
			t.Errorf("got %v", err)
		}
		q.leave()
		if err := q.enter(t.Context(), "c"); err != nil || q.running != 1 {
			t.Errorf("after a cancelled wait: %v, %d running", err, q.running)
		}
	})
}
