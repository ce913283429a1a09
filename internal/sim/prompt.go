package sim

import (
	"strings"

	"github.com/tidwall/gjson"
)

// prompt is what an engine makes of a conversation, in whichever API it was written.
type prompt struct {
	said      string // the last text of the user's last turn
	words     int
	afterTool bool // the last turn brings the result of a tool
	limit     int  // of the words of the answer, 0: none
	tools     []tool
	choice    toolChoice
}

// tool is a function that the model may call.
type tool struct {
	name   string
	schema gjson.Result
}

type toolChoice struct {
	must bool   // a tool has to be called
	name string // this one
	none bool   // no tool may be called
}

// countWords is how tokens are counted here: a text has one more than it has blanks. Escaped text counts as it stands.
func countWords(raw string) int {
	if raw == "" {
		return 0
	}
	return strings.Count(raw, " ") + 1
}

// addMessages takes in a list of turns and reports whether it is one that has any.
func (p *prompt) addMessages(list gjson.Result) bool {
	if !list.IsArray() {
		return false
	}
	found := false
	list.ForEach(func(_, m gjson.Result) bool {
		found = true
		role := m.Get("role").Str
		p.add(role, m.Get("content"))
		p.afterTool = p.afterTool || role == "tool"
		return true
	})
	return found
}

// add takes in one turn of a conversation: its content is a string or a list of parts.
func (p *prompt) add(role string, content gjson.Result) {
	if content.Type == gjson.String {
		p.words += countWords(content.Raw)
		p.note(role, content.Str)
		return
	}
	content.ForEach(func(_, part gjson.Result) bool {
		if part.Type == gjson.String {
			p.words += countWords(part.Raw)
			p.note(role, part.Str)
			return true
		}
		switch part.Get("type").Str {
		case "tool_result":
			p.words += countWords(part.Get("content").Raw)
			p.afterTool = true
		case "text", "input_text", "output_text":
			t := part.Get("text")
			p.words += countWords(t.Raw)
			p.note(role, t.Str)
		default:
			p.words++ // an image, a document, a thought
		}
		return true
	})
}

func (p *prompt) note(role, said string) {
	if role == "user" {
		p.said, p.afterTool = said, false
	}
}

// calls returns the tool that the answer calls, if it calls one: because it must, or because the user said
// "call <name>" and no result has come yet.
func (p *prompt) calls() (tool, bool) {
	if p.choice.none {
		return tool{}, false
	}
	for _, t := range p.tools {
		if p.choice.must && (p.choice.name == "" || p.choice.name == t.name) {
			return t, true
		}
		if !p.choice.must && !p.afterTool && strings.Contains(strings.ToLower(p.said), "call "+strings.ToLower(t.name)) {
			return t, true
		}
	}
	return tool{}, false
}

// reply returns the words of the answer, which joined are its text, and whether it was cut at the limit.
func (x *exchange) reply(p *prompt) (said string, words []string, cut bool) {
	said = x.b.Text
	if said == "" {
		said = defaultText(x.q.Model, p.said)
	}
	words = splitWords(x.c.words[:0], said)
	if n := x.b.Tokens; n > 0 && n < len(words) {
		words = words[:n]
	} else if n > len(words) && len(words) > 0 {
		more := " " + said
		said += strings.Repeat(more, n/len(words))
		words = splitWords(words[:0], said)[:n]
	}
	if p.limit > 0 && len(words) > p.limit {
		words, cut = words[:p.limit], true
	}
	x.c.words = words
	end := 0
	for _, w := range words {
		end += len(w)
	}
	return said[:end], words, cut
}

// quotedWords is how much of what the user said an answer repeats.
const quotedWords = 24

func defaultText(model, said string) string {
	quoted := strings.Fields(said)
	if len(quoted) == 0 {
		return "This is " + model + ". Nothing was said."
	}
	if len(quoted) > quotedWords {
		quoted = append(quoted[:quotedWords], "...")
	}
	return "This is " + model + ". You said: " + strings.Join(quoted, " ")
}

// splitWords cuts a text before each blank.
func splitWords(dst []string, s string) []string {
	for s != "" {
		end := len(s)
		if i := strings.IndexByte(s[1:], ' '); i >= 0 {
			end = i + 1
		}
		dst = append(dst, s[:end])
		s = s[end:]
	}
	return dst
}
