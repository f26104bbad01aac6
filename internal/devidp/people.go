package devidp

import "slices"

// A Person is someone to sign in as. Their organisations are those that the store seeds.
type Person struct {
	// ID is the sub claim, and the name that FetchToken takes.
	ID, Name, Email string
	// OrgID and OrgName are the org_id and org_name claims; empty for a person with no organisation.
	OrgID, OrgName string
	Roles          []string
}

// People lists who can sign in, in the order of the page.
func People() []Person {
	return []Person{
		{ID: "alice", Name: "Alice Archer", Email: "alice@acme.example", OrgID: "acme", OrgName: "Acme"},
		{ID: "bob", Name: "Bob Baker", Email: "bob@acme.example", OrgID: "acme", OrgName: "Acme"},
		{ID: "carol", Name: "Carol Carter", Email: "carol@globex.example", OrgID: "globex", OrgName: "Globex"},
		{ID: "dave", Name: "Dave Dyer", Email: "dave@home.example"},
		{ID: "root", Name: "Root", Email: "root@staff.example", OrgID: "staff", OrgName: "Staff", Roles: []string{"admin"}},
	}
}

func personByID(id string) (Person, bool) {
	people := People()
	i := slices.IndexFunc(people, func(p Person) bool { return p.ID == id })
	if i < 0 {
		return Person{}, false
	}
	return people[i], true
}
