package store

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"example.com/gatehouse/internal/dbgen"
)

// An Identity is what an issuer says of a person.
type Identity struct {
	// Issuer and Subject name the person.
	Issuer, Subject string
	// OrgClaim is the issuer's immutable id of the person's organisation; unused if Personal.
	OrgClaim string
	// OrgName, Email and Name are for people to read. Empty: the credential does not say, and what is known stays.
	OrgName, Email, Name string
	// Personal puts the person into an organisation of their own.
	Personal bool
}

// A Member is a person and their organisation.
type Member struct {
	UserID, OrgID   uuid.UUID
	Issuer, Subject string
	Email, Name     string
	OrgName, Plan   string
	CreatedAt       time.Time
}

// An Organisation is a tenant.
type Organisation struct {
	ID          uuid.UUID
	Name        string
	Plan        string
	MemberCount int
	CreatedAt   time.Time
}

// EnsureUser returns the user with this identity, making user and organisation at the first sight of them and writing
// down what the issuer says anew of them. An identity that is known and unchanged costs one read.
func (s *Store) EnsureUser(ctx context.Context, id Identity) (Member, error) {
	member, err := one(ctx, s, "find user", func(ctx context.Context, q *dbgen.Queries) (dbgen.FindMemberRow, error) {
		return q.FindMember(ctx, dbgen.FindMemberParams{Issuer: id.Issuer, Subject: id.Subject})
	})
	if err != nil && !errors.Is(err, ErrNotFound) {
		return Member{}, err
	}
	if err == nil && id.equals(member) {
		return memberOf(member.User, member.Organisation), nil
	}
	return s.upsertUser(ctx, id)
}

// equals is true if all that the identity says is already written down.
func (id Identity) equals(row dbgen.FindMemberRow) bool {
	same := func(said, stored string) bool { return said == "" || said == stored }
	return row.Organisation.Personal == id.Personal && row.Organisation.Claim == id.claim() &&
		same(id.OrgName, row.Organisation.Name) && same(id.Email, row.User.Email) && same(id.Name, row.User.Name)
}

// claim is the organisation's key at the issuer: a personal one bears its owner's subject.
func (id Identity) claim() string {
	if id.Personal {
		return id.Subject
	}
	return id.OrgClaim
}

// newOrgName names an organisation whose name the issuer did not say.
func (id Identity) newOrgName() string {
	if id.Personal {
		return cmp.Or(id.OrgName, id.Name, id.Email, id.Subject)
	}
	return cmp.Or(id.OrgName, id.OrgClaim)
}

func (s *Store) upsertUser(ctx context.Context, id Identity) (Member, error) {
	var row dbgen.UpsertMemberRow
	err := all(ctx, s, "make user", func(ctx context.Context, q *dbgen.Queries) error {
		ids, err := idsFor(ctx, q, id)
		if err != nil {
			return err
		}
		row, err = q.UpsertMember(ctx, dbgen.UpsertMemberParams{
			OrganisationID: ids.OrganisationID, Issuer: id.Issuer, Claim: id.claim(), Personal: id.Personal,
			NewOrganisationName: id.newOrgName(), OrganisationName: id.OrgName,
			UserID: ids.UserID, Subject: id.Subject, Email: id.Email, Name: id.Name,
		})
		return err
	})
	if err != nil {
		return Member{}, err
	}
	return Member{
		UserID: row.UserID, OrgID: row.OrganisationID, Issuer: id.Issuer, Subject: id.Subject,
		Email: row.Email, Name: row.Name, OrgName: row.OrganisationName, Plan: row.Plan, CreatedAt: utc(row.CreatedAt),
	}, nil
}

// forgottenFor is how long who was forgotten gets the same id back: an hour longer than the longest window of a budget.
const forgottenFor = 25 * time.Hour

// idsFor finds the ids for a person who may be new: those from before if they were forgotten a moment ago, because
// budgets are counted by id. Ids that are in use already are not changed by them.
func idsFor(ctx context.Context, q *dbgen.Queries, id Identity) (dbgen.ForgottenPersonRow, error) {
	ids := dbgen.ForgottenPersonRow{UserID: newID(), OrganisationID: newID()}
	if err := q.LockIdentity(ctx, dbgen.LockIdentityParams{Issuer: id.Issuer, Subject: id.Subject}); err != nil {
		return ids, err
	}
	before, err := q.ForgottenPerson(ctx, dbgen.ForgottenPersonParams{Issuer: id.Issuer, Subject: id.Subject, Seconds: forgottenFor.Seconds()})
	if errors.Is(err, pgx.ErrNoRows) {
		return ids, nil
	}
	if err != nil {
		return ids, err
	}
	ids.UserID = before.UserID
	if id.Personal {
		ids.OrganisationID = before.OrganisationID
	}
	return ids, nil
}

// DeleteUser removes a person with their sessions and, if they have one, their personal organisation, and refuses their
// tokens that were issued up to this second, so that an app in the background does not make them anew. What they made in a
// shared organisation stays there, without their name. The error is ErrNotFound if there is no such user.
func (s *Store) DeleteUser(ctx context.Context, id uuid.UUID) error {
	return s.tell(ctx, "delete user", func(ctx context.Context, q *dbgen.Queries) error {
		identity, err := q.UserIdentity(ctx, id)
		if err != nil {
			return err
		}
		if err := revokeUser(ctx, q, identity.Issuer, identity.Subject); err != nil {
			return err
		}
		if err := q.LockPersonalOrganisation(ctx, id); err != nil {
			return err
		}
		if err := q.PruneForgottenPeople(ctx, forgottenFor.Seconds()); err != nil {
			return err
		}
		if err := q.ForgetPerson(ctx, id); err != nil {
			return err
		}
		user, err := q.DeleteUser(ctx, id)
		if err != nil {
			return err
		}
		return q.DeletePersonalOrganisation(ctx, dbgen.DeletePersonalOrganisationParams(user))
	})
}

// Member reads a person and their organisation, or ErrNotFound.
func (s *Store) Member(ctx context.Context, userID uuid.UUID) (Member, error) {
	row, err := one(ctx, s, "read user", func(ctx context.Context, q *dbgen.Queries) (dbgen.MemberByIDRow, error) {
		return q.MemberByID(ctx, userID)
	})
	if err != nil {
		return Member{}, err
	}
	return memberOf(row.User, row.Organisation), nil
}

// SessionMember reads whose session that is, or ErrNotFound.
func (s *Store) SessionMember(ctx context.Context, sessionID uuid.UUID) (Member, error) {
	row, err := one(ctx, s, "read session's user", func(ctx context.Context, q *dbgen.Queries) (dbgen.MemberBySessionRow, error) {
		return q.MemberBySession(ctx, sessionID)
	})
	if err != nil {
		return Member{}, err
	}
	return memberOf(row.User, row.Organisation), nil
}

// Names returns the names of users and organisations by their ids, and of sessions those of their users; who is gone is left
// out.
func (s *Store) Names(ctx context.Context, ids []uuid.UUID) (map[uuid.UUID]string, error) {
	rows, err := one(ctx, s, "read names", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.NamesOfRow, error) {
		return q.NamesOf(ctx, ids)
	})
	names := make(map[uuid.UUID]string, len(rows))
	for _, row := range rows {
		names[row.ID] = row.Name
	}
	return names, err
}

// Organisation reads an organisation, or ErrNotFound.
func (s *Store) Organisation(ctx context.Context, id uuid.UUID) (Organisation, error) {
	row, err := one(ctx, s, "read organisation", func(ctx context.Context, q *dbgen.Queries) (dbgen.OrganisationRow, error) {
		return q.Organisation(ctx, id)
	})
	if err != nil {
		return Organisation{}, err
	}
	return Organisation{
		ID: row.ID, Name: row.Name, Plan: row.Plan, MemberCount: int(row.MemberCount), CreatedAt: utc(row.CreatedAt),
	}, nil
}

func memberOf(u dbgen.User, o dbgen.Organisation) Member {
	return Member{
		UserID: u.ID, OrgID: o.ID, Issuer: u.Issuer, Subject: u.Subject, Email: u.Email, Name: u.Name,
		OrgName: o.Name, Plan: o.Plan, CreatedAt: utc(u.CreatedAt),
	}
}
