package bot

import (
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

func sortByTS(list []theirs) {
	slices.SortFunc(list, func(a, b theirs) int { return strings.Compare(a.TS, b.TS) })
}
