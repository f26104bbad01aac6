// Package mobileclient is the Go client of the API. It keeps the caller's budgets locally, in a mirror of what the
// server counts, so that a call which the server would refuse is refused at once, with the same error, and never sent.
//
// # What is promised
//
// A client whose attempts all pass the mirror is never refused by a server limiter of the same limit and window –
// exact log, fixed window or token bucket – whatever the network does to its timing. It holds while
//
//   - one Client makes all requests of the user (and, before the user is known to the server, of the address);
//   - the server's budgets are at least those of [api.Budgets], or of [WithBudget];
//   - the two clocks run at rates that differ by at most the guard ([WithGuard]: 1 % of the window unless set);
//   - a request whose answer was given up on arrives within the late grace ([WithLateGrace]) or not at all.
//
// The mirror holds a slot of every budget that a request is charged from before it is sent until the window and the
// guard have passed since its answer's headers. That covers every moment at which the server may have counted it, so no
// delay, reordering or pause can bring the server more requests in a window than the mirror let pass. What counts is what
// may have arrived: a request that never got a connection gives its slots back, and one that net/http would repeat by
// itself is repeated by the client instead, through the mirror. Times are monotonic: setting the wall clock changes
// nothing, and a device that sleeps is late, never early.
//
// Budgets counted by user are mirrored: edge.caller, user and those of single routes, and beside them an allowance of
// [EndpointLimit] requests a minute of each path. A request is let pass by all of them or takes from none. Until the
// server has accepted a credential the address's edge budget is mirrored too, since that is what a stranger is charged.
//
// # What is learned
//
// The first request of a person goes alone. What answers say of the budgets holds back and never lets pass more: lower limits,
// what others have spent, Retry-After. After a 429 nothing leaves that needs the spent budgets until Retry-After has
// passed, a minute at the longest; then one request tries.
//
// # What is sent again
//
// Calls that may be repeated without harm are tried again after faults of the network and of the server; see [WithRetryWait].
// A call that creates or parses is one of them, because all of its tries bear one idempotency key, by which the server
// answers it once and for all; see [IdempotencyKey]. Every try passes the mirror.
//
// # What is not promised
//
//   - Other devices and processes of the same user, and other people behind the same address, spend the same budgets
//     unseen until an answer tells.
//   - A new process knows nothing of what its predecessor sent a moment ago before its first answer.
//   - A limit that the server lowered is not known before the next answer.
//   - The organisation's budget is shared with its other members, and what a model's tokens cost varies: both are learned of
//     only.
//   - Calls that [SkipRateLimit] are counted but not held back; they may be refused, and so may be what they overtake.
//   - A server process that does not know the credential yet, after a restart or behind a load balancer, charges the
//     address until it has authenticated it. More than a hundred requests under way to such a process at once, or other
//     people's failures from the same address, can spend that budget.
//
// A refusal by the server is an [*Error] like the local one; [Error.Local] tells them apart, and errors.Is with
// [ErrRateLimited] holds for both.
package mobileclient
