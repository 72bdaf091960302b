package demomail

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

//go:embed seed/*.eml
var seedMails embed.FS

// seededMark says that a Maildir has had its mails: what its owner deletes
// afterwards stays deleted.
const seededMark = ".seeded"

// Seed writes a handful of plausible mails into the Maildir, with dates
// before now. It does so once: a Maildir that was seeded before, or that
// already holds mail of somebody's own, is left as it is. One of the mails,
// from a stranger, carries an instruction for whichever model reads it.
func Seed(dir string) error { return SeedAt(dir, time.Now()) }

// SeedAt is Seed as if it were called at now.
func SeedAt(dir string, now time.Time) error {
	box, err := openMaildir(dir)
	if err != nil {
		return err
	}
	mark := filepath.Join(box.dir, seededMark)
	if _, err := os.Stat(mark); err == nil {
		return nil
	}
	mails, err := seeds(now)
	if err != nil {
		return err
	}
	foreign, err := box.holdsOtherThan(mails)
	if err != nil {
		return fmt.Errorf("seed the Maildir %s: %w", box.dir, err)
	}
	if foreign {
		return nil
	}
	for name, raw := range mails { // names are fixed: a seeding that was cut off goes on
		target := filepath.Join(box.dir, filepath.FromSlash(name))
		err := writeDurably(target, raw)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("seed the Maildir %s: %w", box.dir, err)
		}
	}
	if err := writeDurably(mark, nil); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("seed the Maildir %s: %w", box.dir, err)
	}
	return nil
}

var relativeDate = regexp.MustCompile(`\{\{(-\d+h)\}\}`)

// seeds renders the mails by their path in the Maildir.
func seeds(now time.Time) (map[string][]byte, error) {
	entries, err := seedMails.ReadDir("seed")
	if err != nil {
		return nil, err
	}
	mails := map[string][]byte{}
	for _, e := range entries {
		raw, err := seedMails.ReadFile("seed/" + e.Name())
		if err != nil {
			return nil, err
		}
		dated := relativeDate.ReplaceAllStringFunc(string(raw), func(s string) string {
			ago, err := time.ParseDuration(strings.Trim(s, "{}"))
			if err != nil {
				return s
			}
			return now.Add(ago).Truncate(time.Minute).Format(time.RFC1123Z)
		})
		name, sent := strings.CutSuffix(strings.TrimSuffix(e.Name(), ".eml"), ".sent")
		folder, flags := "new/", ""
		if sent {
			folder, flags = sentFolder+"/cur/", ":2,S"
		}
		mails[folder+"seed-"+name+flags] = []byte(dated)
	}
	return mails, nil
}

func (m *maildir) holdsOtherThan(mails map[string][]byte) (bool, error) {
	for _, sub := range []string{"new", "cur", sentFolder + "/new", sentFolder + "/cur"} {
		entries, err := os.ReadDir(filepath.Join(m.dir, sub))
		if err != nil {
			return false, err
		}
		for _, e := range entries {
			if _, ours := mails[sub+"/"+e.Name()]; !ours && !strings.HasPrefix(e.Name(), ".") {
				return true, nil
			}
		}
	}
	return false, nil
}
