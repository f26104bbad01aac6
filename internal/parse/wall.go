package parse

import "time"

// wallClock is what clocks in loc show at t, to the second, held as if it were UTC: there every day has 24 hours, so
// that counting days is safe whatever the zone does in between.
func wallClock(t time.Time, loc *time.Location) time.Time {
	l := t.In(loc)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), l.Second(), 0, time.UTC)
}

// instants are the moments at which clocks in loc show wall, in order: two in the hour that is repeated when summer
// time ends, otherwise one. A reading that is skipped when it begins means as long after the change as was skipped:
// 02:30 becomes 03:30. time.Date leaves both choices open.
func instants(wall time.Time, loc *time.Location) []time.Time {
	before, after := offsetsAround(wall, loc)
	first, second := wall.Add(-before), wall.Add(-after)
	isFirst, isSecond := wallClock(first, loc).Equal(wall), wallClock(second, loc).Equal(wall)
	switch {
	case isFirst && isSecond && !first.Equal(second):
		return []time.Time{first, second}
	case isSecond && !isFirst:
		return []time.Time{second}
	}
	return []time.Time{first}
}

// offsetsAround are the offsets from UTC a day before and a day after wall. No zone changes twice in two days.
func offsetsAround(wall time.Time, loc *time.Location) (before, after time.Duration) {
	_, b := wall.Add(-24 * time.Hour).In(loc).Zone()
	_, a := wall.Add(24 * time.Hour).In(loc).Zone()
	return time.Duration(b) * time.Second, time.Duration(a) * time.Second
}

// day is wall's midnight.
func day(wall time.Time) time.Time { return wall.Truncate(24 * time.Hour) }

// date is a day by its numbers; false if no such day exists.
func date(year int, month time.Month, dayOfMonth int) (time.Time, bool) {
	d := time.Date(year, month, dayOfMonth, 0, 0, 0, 0, time.UTC)
	return d, d.Year() == year && d.Month() == month && d.Day() == dayOfMonth
}

// addMonths is d some months later; in a month without that day, its last one.
func addMonths(d time.Time, n int) time.Time {
	first := time.Date(d.Year(), d.Month()+time.Month(n), 1, 0, 0, 0, 0, time.UTC)
	last := first.AddDate(0, 1, -1)
	return first.AddDate(0, 0, min(d.Day(), last.Day())-1)
}
