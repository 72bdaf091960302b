package agent

import (
	"errors"
	"strconv"
	"strings"
)

// AnswerShape is what an answer must be to come back as a fact and not as a
// stranger's text: "number", "boolean", or one of a list.
type AnswerShape struct {
	Kind    string
	Choices []string
}

// UnmarshalTOML reads a word or a list.
func (s *AnswerShape) UnmarshalTOML(v any) error {
	switch v := v.(type) {
	case string:
		s.Kind = v
		return nil
	case []any:
		s.Kind = "choice"
		for _, e := range v {
			c, ok := e.(string)
			if !ok || strings.TrimSpace(c) == "" {
				return errors.New("answer_shape: a list holds the allowed answers, in words")
			}
			s.Choices = append(s.Choices, c)
		}
		return nil
	}
	return errors.New(`answer_shape is "number", "boolean" or a list of answers`)
}

// parse reads an answer of the shape, and writes it in our own spelling: not a
// byte of it is the child's.
func (s AnswerShape) parse(answer string) (string, bool) {
	a := strings.ToLower(strings.TrimRight(strings.TrimSpace(answer), "."))
	switch s.Kind {
	case "number":
		n, err := strconv.ParseFloat(a, 64)
		if err != nil || len(a) > 32 {
			return "", false
		}
		return strconv.FormatFloat(n, 'g', -1, 64), true
	case "boolean":
		switch a {
		case "true", "yes":
			return "true", true
		case "false", "no":
			return "false", true
		}
	case "choice":
		for _, c := range s.Choices {
			if strings.EqualFold(c, a) || strings.EqualFold(c, strings.TrimSpace(answer)) {
				return c, true
			}
		}
	}
	return "", false
}
