package mobileclient

import (
	"fmt"
	"path"
	"strings"

	"example.com/gatehouse/api"
)

// placeholder stands for an id in the key of an endpoint.
const placeholder = ":id"

// normalise turns a path into the key of its endpoint: no query, no empty or dot segments, and ":id" for each segment that
// is a UUID or a number, so that the tasks of a thousand ids are one endpoint. Normalising twice changes nothing more.
func normalise(text string) string {
	text, _, _ = strings.Cut(text, "#")
	text, _, _ = strings.Cut(text, "?")
	parts := strings.Split(path.Clean("/"+text), "/")
	for i, part := range parts {
		if isDigits(part) || isUUID(part) {
			parts[i] = placeholder
		}
	}
	return strings.Join(parts, "/")
}

// isUUID takes the form with hyphens, in either case.
func isUUID(text string) bool { return api.IsID(strings.ToLower(text)) }

// callTo finds the route of an endpoint as Client.Limits takes it. A path that the contract does not have is charged like
// any route of a user.
func (c catalogue) callTo(endpoint string) (call, error) {
	if call, ok := c[endpoint]; ok {
		return call, nil
	}
	method, target, found := strings.Cut(endpoint, " ")
	if !found {
		method, target = "", endpoint
	}
	if !strings.HasPrefix(target, "/") {
		return call{}, fmt.Errorf("%q is neither a route's id, such as me.get, nor a path, such as /api/v1/me", endpoint)
	}
	target = normalise(target)
	for _, r := range api.Routes() {
		if (method == "" || strings.EqualFold(method, r.Method)) && c[r.ID].endpoint == target {
			return c[r.ID], nil
		}
	}
	return call{endpoint: target, charges: api.Route{}.Charges()}, nil
}
