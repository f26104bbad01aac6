// Package api is the contract that server, SDK and web share: routes, budgets, request and response types,
// error codes, and the codec of the rate-limit headers.
//
// It holds values and plain types only and imports nothing but the standard library. Whatever the server mounts,
// the SDK mirrors or the documentation shows is read from here, so a number changed here changes everywhere.
package api

// BasePath is what every route of the contract begins with.
const BasePath = "/api/v1"
