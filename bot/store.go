package bot

import "github.com/mecha-slack/mecha-slack/internal/record"

const qPersonGet = `SELECT team, user, role, name, tz, dm FROM people WHERE team = ? AND user = ? AND removed IS NULL`

const qOwners = `SELECT team, user, role, name, tz, dm FROM people WHERE team >= '' AND role = 'owner' AND removed IS NULL ORDER BY team, created`

const qPersonPut = `INSERT INTO people (team, user, role, name, tz, dm, bound_by, created) VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (team, user) DO UPDATE SET role = excluded.role, name = excluded.name, tz = CASE WHEN excluded.tz = '' THEN people.tz ELSE excluded.tz END, dm = CASE WHEN excluded.dm = '' THEN people.dm ELSE excluded.dm END, bound_by = excluded.bound_by, removed = NULL`

const qPersonAbout = `UPDATE people SET name = ?, tz = ? WHERE team = ? AND user = ? AND removed IS NULL`

const qPersonDM = `UPDATE people SET dm = ? WHERE team = ? AND user = ?`

const qPersonRemove = `UPDATE people SET removed = ? WHERE team = ? AND user = ? AND removed IS NULL`

const qCodeInsert = `INSERT INTO link_codes (hash, expires, created) VALUES (?, ?, ?)`

const qCodesOpen = `SELECT id, hash FROM link_codes WHERE id > 0 AND expires > ? AND tries < ? AND used_by IS NULL`

const qCodeUse = `UPDATE link_codes SET used_by = ? WHERE id = ?`

const qCodeTry = `UPDATE link_codes SET tries = tries + 1 WHERE id > 0 AND expires > ?`

func scanPerson(r record.Scanner) (p Person, err error) {
	err = r.Scan(&p.Team, &p.User, &p.Role, &p.Name, &p.Zone, &p.DM)
	return p, err
}

type code struct {
	id   int64
	hash []byte
}

func scanCode(r record.Scanner) (c code, err error) {
	err = r.Scan(&c.id, &c.hash)
	return c, err
}
