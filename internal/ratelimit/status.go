package ratelimit

import (
	"cmp"
	"slices"
)

// A StoreStatus is how one store is, as this process sees it.
type StoreStatus struct {
	Name string
	// BreakerOpen says that it is not asked for the moment because it failed.
	BreakerOpen bool
	// Epoch counts what made this process forget the refusals that it repeats: resets and give-backs.
	Epoch uint64
}

// Stores are the stores by name.
func (l *Limiter) Stores() []StoreStatus {
	stores := make([]StoreStatus, 0, len(l.guards))
	for _, g := range l.guards {
		status := StoreStatus{Name: g.name, BreakerOpen: g.breaker.isOpen()}
		if g.denials != nil {
			status.Epoch = g.denials.epoch.Load()
		}
		stores = append(stores, status)
	}
	slices.SortFunc(stores, func(a, b StoreStatus) int { return cmp.Compare(a.Name, b.Name) })
	return stores
}

// Outages are those that have not ended, in the table's order.
func (l *Limiter) Outages() []Outage {
	var outages []Outage
	for _, r := range l.table.Load().order {
		r.outages.mu.Lock()
		if r.outages.outage.Decisions > 0 {
			outages = append(outages, r.outages.outage)
		}
		r.outages.mu.Unlock()
	}
	return outages
}

func (b *breaker) isOpen() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.open
}
