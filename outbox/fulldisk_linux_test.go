package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/mecha-slack/mecha-slack/internal/record"
)

// A disk that is really full: a file system of 3 MB in a namespace of its own.
// Nothing is drafted by halves, nothing goes out that could not be written down
// first, and once there is room again the approved draft goes out, once.
func TestAFileSystemThatIsFull(t *testing.T) {
	o := order{What: "disk", Path: filepath.Join(t.TempDir(), "small"), Mail: filepath.Join(t.TempDir(), "mail")}
	if err := os.Mkdir(o.Path, 0o700); err != nil {
		t.Fatal(err)
	}
	cmd := o.process(t)
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
	}
	out, err := cmd.Output()
	switch {
	case errors.Is(err, syscall.EPERM), errors.Is(err, syscall.ENOSPC), strings.Contains(string(out), "cannot mount"):
		if strings.Contains(os.Getenv("MECHA_TEST_REQUIRE"), "sandbox") {
			t.Fatalf("no namespace of one's own here: %v %s", err, out)
		}
		t.Skipf("no namespace of one's own here: %v %s", err, out)
	case err != nil:
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func (o order) fullDisk() error {
	if err := syscall.Mount("tmpfs", o.Path, "tmpfs", 0, "size=3m"); err != nil {
		fmt.Println("cannot mount:", err)
		return err
	}
	dir := o.Path
	o.Path = filepath.Join(dir, "mecha.db")
	ob, db, err := o.open(true)
	if err != nil {
		return err
	}
	defer db.Close()
	mail := newSender()
	stage := func(n int, body string) (Draft, error) {
		raw := fmt.Sprintf(`{"to":["%d@x.org"],"subject":"%d","body":%q}`, n, n, body)
		st, err := stageWith(ctx, ob, Staging{Tool: mail, Args: []byte(raw), Workspace: dir, Thread: "T1", Run: "r", Call: fmt.Sprint("c", n), Requester: "U1"})
		if err != nil {
			return Draft{}, err
		}
		return ob.Get(ctx, st.ID)
	}
	first, err := stage(0, "hello")
	if err != nil {
		return err
	}
	if first, err = ob.Approve(ctx, second(first, "U1")); err != nil {
		return err
	}
	ballast := filepath.Join(dir, "ballast")
	if err := fill(ballast); err != nil {
		return err
	}
	staged := 1
	for {
		if _, err = stage(staged, strings.Repeat("long ", 4000)); err != nil {
			break
		}
		if staged++; staged > 1000 {
			return errors.New("the disk never filled")
		}
	}
	if !record.IsFull(err) {
		return fmt.Errorf("an error of another kind: %w", err)
	}
	if err := fill(ballast + "2"); err != nil { // what was given back
		return err
	}
	list, err := ob.List(ctx, Filter{All: true})
	if err != nil || len(list) != staged {
		return fmt.Errorf("%d drafts, %d were staged: %w", len(list), staged, err)
	}
	refusals := 0
	for range 20 {
		d, err := ob.Dispatch(context.Background(), first.ID)
		sent := mailbox(o.Mail).count(first.IdempotencyKey)
		if err == nil {
			if d.State != Released || sent != 1 {
				return fmt.Errorf("it is %s, and %d went out", d.State, sent)
			}
			break
		}
		refusals++
		if !record.IsFull(err) || sent != 0 {
			return fmt.Errorf("%d went out beside: %w", sent, err)
		}
		if d, err := ob.Get(ctx, first.ID); err != nil || d.State != Approved || len(d.Attempts) != 0 {
			return fmt.Errorf("it became %s with %d attempts: %w", d.State, len(d.Attempts), err)
		}
	}
	if refusals == 0 {
		return errors.New("the release found room: the disk was not full")
	}
	for _, f := range []string{ballast, ballast + "2"} {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	d, err := ob.Dispatch(ctx, first.ID)
	if n := mailbox(o.Mail).count(first.IdempotencyKey); err != nil || d.State != Released || n != 1 {
		return fmt.Errorf("with room again it is %s, %d went out: %w", d.State, n, err)
	}
	fmt.Printf("%d staged before it was full; %d releases refused\n", staged, refusals)
	return nil
}

// fill takes all the room that is left.
func fill(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for _, size := range []int{64 << 10, 4 << 10, 1} {
		for {
			if _, err = f.Write(make([]byte, size)); err != nil {
				break
			}
		}
	}
	if errors.Is(err, syscall.ENOSPC) {
		return nil
	}
	return err
}
