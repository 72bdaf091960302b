package blockkit

// The numbers of Block Kit. Sources: [bk] docs.slack.dev/reference/block-kit
// (and its machine-readable form, the limits.json of the slackblocks
// conformance suite, against which a test compares this file); [msg]
// docs.slack.dev/reference/methods/chat.postMessage, chat.update and
// chat.startStream; [view] docs.slack.dev/reference/views; [seen] measured or
// reported by others and not documented. Lengths are in characters (see the
// package comment), unless a name says Bytes.
const (
	MaxMessageBlocks = 50  // [bk] "up to 50 blocks in each message"
	MaxViewBlocks    = 100 // [bk] "and 100 blocks in modals or Home tabs"

	MaxText     = 3000 // [bk] text object, 1 to 3,000
	MaxActionID = 255  // [bk]
	MaxBlockID  = 255  // [bk]

	MaxButtonText         = 75   // [bk]; clients show about 30
	MaxButtonURL          = 3000 // [bk]
	MaxButtonValue        = 2000 // [bk]
	MaxAccessibilityLabel = 75   // [bk]

	MaxConfirmTitle  = 100 // [bk]
	MaxConfirmText   = 300 // [bk]
	MaxConfirmButton = 30  // [bk] both confirm and deny

	MaxOptionText        = 75   // [bk]
	MaxOptionValue       = 150  // [bk]
	MaxOptionDescription = 75   // [bk]
	MaxOptionURL         = 3000 // [bk]
	MaxOptionGroupLabel  = 75   // [bk]
	MaxOptions           = 100  // [bk] select menus and option groups
	MaxOptionGroups      = 100  // [bk]
	MaxPlaceholder       = 150  // [bk]
	MaxOverflowOptions   = 5    // [bk]
	MaxCheckboxes        = 10   // [bk]
	MaxRadioButtons      = 10   // [bk]

	MaxURLSource   = 3000 // [bk]
	MaxFileInputs  = 10   // [bk] file_input.max_files
	MaxInputLength = 3000 // [bk] plain_text_input.max_length, and so initial_value

	MaxActions        = 25 // [bk] elements of an actions block
	MaxContext        = 10 // [bk] elements of a context block
	MaxContextActions = 5  // [bk]
	MaxIconButtonFor  = 10 // [bk] visible_to_user_ids

	MaxAlert             = 200 // [bk]
	MaxCardTitle         = 150 // [bk] title and subtitle
	MaxCardBody          = 200 // [bk] body and subtext
	MaxCardActions       = 3   // [bk]
	MaxCarousel          = 10  // [bk]
	MaxContainerTitle    = 150 // [bk] title and subtitle
	MaxContainerChildren = 10  // [bk]

	MaxHeader      = 150   // [bk]
	MaxImageURL    = 3000  // [bk]
	MaxImageAlt    = 2000  // [bk]
	MaxImageTitle  = 2000  // [bk]
	MaxInputLabel  = 2000  // [bk] label and hint
	MaxMarkdown    = 12000 // [bk] one block, and all markdown blocks of a payload together
	MaxSection     = 3000  // [bk]
	MaxFields      = 10    // [bk]
	MaxField       = 2000  // [bk]
	MaxVideoText   = 200   // [bk] alt_text, title, description
	MaxVideoAuthor = 50    // [bk] author_name, provider_name

	MaxTableRows       = 100   // [bk]; [seen] a live workspace took 101
	MaxTableColumns    = 20    // [bk]
	MaxTableText       = 10000 // [bk] over all tables of a message; [seen] enforced
	MaxDataTableRows   = 201   // [bk] the header row included
	MinDataTableRows   = 2     // [bk]
	MaxDataTableText   = 20000 // [bk]
	MaxDataTablePage   = 100   // [bk]
	MaxChartTitle      = 50    // [bk]
	MaxChartSeries     = 12    // [bk] pie segments and series
	MaxChartPoints     = 20    // [bk] points of a series, and categories
	MaxChartLabel      = 20    // [bk] segment, series, point and category labels
	MaxChartAxis       = 50    // [bk] x_label, y_label
	MaxTaskField       = 256   // [msg] title, details, output of a task_update chunk
	MaxStreamAppend    = 12000 // [msg] markdown_text of one call
	MaxStreamed        = 10000 // [seen] ~12,000 over a whole stream end in msg_too_long: roll over before
	MaxMessageText     = 40000 // [msg] longer is truncated with a warning
	MaxUpdateText      = 4000  // [msg] chat.update refuses more with msg_too_long; also the advice for posting
	MaxMessageChars    = 12000 // [seen] block text of one message; msg_blocks_too_long appears near 13,200
	MaxAttachments     = 100   // [msg] too_many_attachments
	MaxViewTitle       = 24    // [view] title, submit, close
	MaxPrivateMetadata = 3000  // [view]
	MaxCallbackID      = 255   // [view]
	MaxViewBytes       = 250 * 1000
	// MaxMetadataBytes bounds event_payload. Slack names the error
	// (metadata_too_large) but not the size; ours are far below any guess.
	MaxMetadataBytes = 16 * 1024
	// MaxValidateChars bounds each argument of blocks.validate.
	MaxValidateChars = 100000
)

// Our own bounds on hostile input, far above anything Slack accepts.
const (
	maxPayloadBytes = 1 << 20
	maxDepth        = 40
	maxErrors       = 100
)
