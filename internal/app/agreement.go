package app

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/telemetry"
)

const (
	// announceEvery is how often a process says that it is alive and looks who else is.
	announceEvery = 10 * time.Second
	// announcedFor is how long it is believed: three times missed, and it is gone.
	announcedFor = 35 * time.Second
	// withdrawTimeout is how long the end of a process waits for the database.
	withdrawTimeout = time.Second
	// maxWarned bounds how many hashes are remembered as said. Beyond it they may be said again.
	maxWarned = 100
)

// An agreement watches that the processes of one database decide alike. Counters that they share mean something only
// while all count by the same table, and take the same addresses for proxies.
type agreement struct {
	id uuid.UUID
	// decidesBy is what this process decides by at present: settings in words, and their hash.
	decidesBy func() (hash string, settings map[string]string)
	announce  func(context.Context, store.Process, time.Duration) ([]store.Process, error)
	log       *slog.Logger
	metrics   *telemetry.Metrics
	warned    map[string]bool
	failing   time.Time // since when there is no comparing; zero: there is
}

// watchAgreement announces this process until ctx ends. An outage of the database only ends the comparing.
func (s *server) watchAgreement(ctx context.Context) {
	a := s.agreement
	tick := time.NewTicker(announceEvery)
	defer tick.Stop()
	for {
		a.compare(ctx)
		select {
		case <-tick.C:
			continue
		case <-ctx.Done():
		}
		break
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), withdrawTimeout)
	defer cancel()
	_ = s.store.Withdraw(ctx, a.id) // Else it is forgotten by itself.
}

func (s *server) makeAgreement() {
	s.agreement = &agreement{
		id: uuid.New(), decidesBy: s.decidesBy, announce: s.store.Announce, log: s.log, metrics: s.metrics, warned: map[string]bool{},
	}
}

func (s *server) decidesBy() (hash string, settings map[string]string) {
	settings = s.limiter.Table()
	settings["TRUSTED_PROXIES"] = sorted(s.cfg.TrustedProxies)
	settings["IPV6_PREFIX"] = strconv.Itoa(s.cfg.IPv6Prefix)
	return s.limiter.TableHash(settings["TRUSTED_PROXIES"], settings["IPV6_PREFIX"]), settings
}

// sorted joins a list whose order means nothing.
func sorted(list []string) string {
	list = slices.Sorted(slices.Values(list))
	return strings.Join(slices.Compact(list), ",")
}

// compare announces the process and says, once for each hash, how others decide otherwise.
func (a *agreement) compare(ctx context.Context) {
	hash, settings := a.decidesBy()
	a.metrics.TableInfo(hash)
	mine := store.Process{ID: a.id, Hash: hash, Settings: settings}
	others, err := a.announce(ctx, mine, announcedFor)
	if err != nil {
		a.failed(ctx, err)
		return
	}
	a.worked(ctx)
	a.metrics.Disagreeing(len(others))
	for _, other := range others {
		a.warn(ctx, mine, other)
	}
}

// failed says once that there is no comparing. That ctx has ended is no failure.
func (a *agreement) failed(ctx context.Context, err error) {
	if !a.failing.IsZero() || ctx.Err() != nil {
		return
	}
	a.failing = time.Now()
	a.log.WarnContext(ctx, "whether all servers decide alike cannot be told until the database answers", "error", err)
}

// worked says once that there is comparing again.
func (a *agreement) worked(ctx context.Context) {
	if a.failing.IsZero() {
		return
	}
	a.log.WarnContext(ctx, "whether all servers decide alike can be told again", "lasted", time.Since(a.failing).Round(time.Millisecond).String())
	a.failing = time.Time{}
}

func (a *agreement) warn(ctx context.Context, mine, other store.Process) {
	pair := mine.Hash + other.Hash
	if a.warned[pair] {
		return
	}
	if len(a.warned) >= maxWarned {
		clear(a.warned)
	}
	a.warned[pair] = true
	a.log.WarnContext(ctx, "another server of this database decides otherwise",
		"differences", differences(mine.Settings, other.Settings), "hash", mine.Hash, "other_hash", other.Hash, "other", other.ID,
		"fix", "give all servers the same build and settings; while an update is rolled out this is expected and ends with it")
}

// differences says what is set otherwise there, setting by setting.
func differences(here, there map[string]string) []string {
	all := maps.Clone(here)
	maps.Copy(all, there)
	var found []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if here[name] != there[name] {
			found = append(found, fmt.Sprintf("%s: %s here, %s there", name, orNone(here[name]), orNone(there[name])))
		}
	}
	return found
}

func orNone(setting string) string {
	if setting == "" {
		return "none"
	}
	return setting
}
