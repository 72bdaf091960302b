package bot

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

type slackFile struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	Title      string `json:"title"`
	MIME       string `json:"mimetype"`
	Size       int64  `json:"size"`
	URL        string `json:"url_private_download"`
	URLPrivate string `json:"url_private"`
	External   bool   `json:"is_external"`
	Access     string `json:"file_access"`
}

type slackAttachment struct {
	Fallback   string `json:"fallback"`
	Text       string `json:"text"`
	Pretext    string `json:"pretext"`
	Title      string `json:"title"`
	AuthorName string `json:"author_name"`
	FromURL    string `json:"from_url"`
	IsShare    bool   `json:"is_share"`
	IsUnfurl   bool   `json:"is_msg_unfurl"`
}

// fetchJSON makes one reading call and decodes the whole answer into out.
func (b *Bot) fetchJSON(ctx context.Context, method string, args url.Values, out any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	base := b.cfg.APIURL
	if base == "" {
		base = "https://slack.com/api/"
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+method, strings.NewReader(args.Encode()))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+b.cfg.BotToken)
	res, err := b.HTTP.Do(req)
	if err != nil {
		return &lostError{method, err}
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil || res.StatusCode != http.StatusOK {
		return &lostError{method, fmt.Errorf("HTTP %d: %w", res.StatusCode, err)}
	}
	var short struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
	}
	if err := json.Unmarshal(body, &short); err != nil {
		return &lostError{method, err}
	}
	if !short.OK {
		return &slackError{Method: method, Code: short.Error}
	}
	if err := json.Unmarshal(body, out); err != nil {
		return fmt.Errorf("the answer of Slack to %s does not parse: %w", method, err)
	}
	return nil
}

func sortByTS(list []theirs) {
	slices.SortFunc(list, func(a, b theirs) int { return strings.Compare(a.TS, b.TS) })
}
