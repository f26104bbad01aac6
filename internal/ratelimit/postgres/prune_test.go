package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/gatehouse/internal/ratelimit"
)

// TestPruneIsRare calls each second for some minutes: a run begins at most once per longest window.
func TestPruneIsRare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs []time.Duration
		began := time.Now()
		var p pruner
		p.init(func(context.Context) error {
			runs = append(runs, time.Since(began))
			return nil
		}, nil)
		defer p.close()
		for range 190 {
			time.Sleep(time.Second)
			p.noticeAll([]ratelimit.Charge{charge("x", sliding(1, 10*time.Second), 1), charge("y", sliding(1, time.Minute), 1)})
			synctest.Wait()
		}
		if len(runs) != 3 || runs[0] != time.Minute || runs[1] != 2*time.Minute || runs[2] != 3*time.Minute {
			t.Errorf("ran at %v, want each minute", runs)
		}
	})
}

// TestShortWindowsDoNotPruneOften has the shortest window alone.
func TestShortWindowsDoNotPruneOften(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		var p pruner
		p.init(func(context.Context) error { runs++; return nil }, nil)
		defer p.close()
		for range 130 {
			time.Sleep(time.Second)
			p.noticeAll([]ratelimit.Charge{charge("x", sliding(1, ratelimit.MinWindow), 1)})
			synctest.Wait()
		}
		if runs != 2 {
			t.Errorf("ran %d times in 130 s, want 2", runs)
		}
	})
}

// TestFailedPruneIsTriedAgain fails twice: both are reported, the next try comes sooner than a window of a day.
func TestFailedPruneIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var runs, reported int
		fault := errors.New("the database is busy")
		var p pruner
		p.init(func(context.Context) error {
			if runs++; runs <= 2 {
				return fault
			}
			return nil
		}, func(err error) {
			if errors.Is(err, fault) {
				reported++
			}
		})
		defer p.close()
		const day = 24 * time.Hour
		call := func() {
			p.noticeAll([]ratelimit.Charge{charge("x", sliding(1, day), 1)})
			synctest.Wait()
		}
		call()
		time.Sleep(day)
		for want := 1; want <= 3; want++ {
			call()
			if runs != want || reported != min(want, 2) {
				t.Errorf("%d runs and %d reported, want %d", runs, reported, want)
			}
			time.Sleep(leastPause)
		}
		call()
		if runs != 3 {
			t.Errorf("after one that succeeded: %d runs", runs)
		}
	})
}

// TestCloseEndsPruning closes during a run: the run is told, waited for, and not reported; none begins afterwards.
func TestCloseEndsPruning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended, reported := 0, 0
		var p pruner
		p.init(func(ctx context.Context) error {
			<-ctx.Done()
			ended++
			return ctx.Err()
		}, func(error) { reported++ })
		call := func() { p.noticeAll([]ratelimit.Charge{charge("x", sliding(1, time.Minute), 1)}) }
		call()
		time.Sleep(time.Minute)
		call()
		synctest.Wait()
		p.close()
		if ended != 1 || reported != 0 {
			t.Errorf("%d runs ended, %d reported", ended, reported)
		}
		time.Sleep(time.Hour)
		call()
		synctest.Wait()
		if ended != 1 {
			t.Errorf("%d runs after close", ended)
		}
	})
}

// TestCallsSetPruningOff has a store whose pruning always fails: it is tried by the calls, and they go on to count.
func TestCallsSetPruningOff(t *testing.T) {
	t.Parallel()
	s := newSetup(t)
	tried := make(chan struct{}, 1)
	s.pruner.run = func(context.Context) error {
		tried <- struct{}{}
		return errors.New("no")
	}
	s.pruner.last = time.Now().Add(-2 * time.Hour)
	c := charge("x", sliding(3, time.Hour), 1)
	s.take(c)
	<-tried
	if v := s.take(c)[0]; !v.OK || v.Remaining != 1 {
		t.Errorf("after a failed pruning: %+v", v)
	}
}
