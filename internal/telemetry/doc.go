// Package telemetry is what the server says about itself: logs that hold no secrets, metrics, and the private address
// where metrics and profiles are read.
//
// It knows none of the packages that it reports about: they call small hooks, and internal/app wires those to what is
// here. There is no global registry or logger, so that two servers in one test process count apart.
package telemetry
