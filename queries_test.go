package mechaslack_test

import (
	"database/sql"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	mechaslack "github.com/mecha-slack/mecha-slack"
	_ "modernc.org/sqlite"
)

// scans may read a whole table, for the reason given. Everything else must be
// served by an index.
var scans = map[string]string{}

var sqlConst = regexp.MustCompile(`^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b`)

// queries finds every SQL constant of every store*.go, with where it stands.
func queries(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != "." || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			for i, v := range spec.Values {
				lit, ok := v.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					continue
				}
				s, err := strconv.Unquote(lit.Value)
				if err == nil && sqlConst.MatchString(s) {
					found[path+":"+spec.Names[i].Name] = s
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Every query is prepared against schema.sql, and none of them reads a table
// from end to end.
func TestQueriesPrepareAndUseTheirIndexes(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "q.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(mechaslack.Schema); err != nil {
		t.Fatal(err)
	}
	all := queries(t)
	if len(all) < 50 {
		t.Fatalf("found %d queries; the search is broken", len(all))
	}
	for where, q := range all {
		st, err := db.Prepare(q)
		if err != nil {
			t.Errorf("%s does not prepare: %v", where, err)
			continue
		}
		st.Close()
		name := where[strings.LastIndexByte(where, ':')+1:]
		if _, ok := scans[name]; ok {
			continue
		}
		params := make([]any, strings.Count(regexp.MustCompile(`'[^']*'`).ReplaceAllString(q, ""), "?"))
		rows, err := db.Query("EXPLAIN QUERY PLAN "+q, params...)
		if err != nil {
			rows, err = db.Query("EXPLAIN QUERY PLAN "+q, params[:min(len(params), numbered(q))]...)
		}
		if err != nil {
			t.Errorf("%s has no plan: %v", where, err)
			continue
		}
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(detail, "SCAN ") && !strings.Contains(detail, "USING INDEX") && !strings.Contains(detail, "USING COVERING INDEX") && !strings.Contains(detail, "CONSTANT ROW") && !strings.Contains(detail, "VIRTUAL TABLE") {
				t.Errorf("%s reads a whole table (%s); give it an index, or a reason in scans:\n%s", where, detail, q)
			}
		}
		rows.Close()
	}
}

// numbered answers the highest ?N of a query.
func numbered(q string) int {
	n := 0
	for _, m := range regexp.MustCompile(`\?(\d+)`).FindAllStringSubmatch(q, -1) {
		k, _ := strconv.Atoi(m[1])
		n = max(n, k)
	}
	return n
}
