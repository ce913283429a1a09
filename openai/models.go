package openai

import (
	"strconv"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/jsonscan"
)

// Model is an entry of the list of models.
type Model struct {
	ID      string
	Created int64 // seconds since 1970
	OwnedBy string
}

// AppendModel renders one model.
func AppendModel(dst []byte, d Dialect, m Model) []byte {
	if d == Anthropic {
		dst = append(dst, `{"type":"model","id":`...)
		dst = jsonscan.AppendQuoted(dst, m.ID)
		dst = append(dst, `,"display_name":`...)
		dst = jsonscan.AppendQuoted(dst, m.ID)
		dst = append(dst, `,"created_at":"`...)
		dst = time.Unix(m.Created, 0).UTC().AppendFormat(dst, time.RFC3339)
		return append(dst, '"', '}')
	}
	dst = append(dst, `{"id":`...)
	dst = jsonscan.AppendQuoted(dst, m.ID)
	dst = append(dst, `,"object":"model","created":`...)
	dst = strconv.AppendInt(dst, m.Created, 10)
	dst = append(dst, `,"owned_by":`...)
	dst = jsonscan.AppendQuoted(dst, m.OwnedBy)
	return append(dst, '}')
}

// AppendModels renders the whole list. Anthropic's is paged; this one is always the only page.
func AppendModels(dst []byte, d Dialect, models []Model) []byte {
	if d == Anthropic {
		dst = append(dst, `{"data":[`...)
	} else {
		dst = append(dst, `{"object":"list","data":[`...)
	}
	for i, m := range models {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendModel(dst, d, m)
	}
	dst = append(dst, ']')
	if d == Anthropic {
		first, last := "", ""
		if len(models) > 0 {
			first, last = models[0].ID, models[len(models)-1].ID
		}
		dst = append(dst, `,"has_more":false,"first_id":`...)
		dst = appendOrNull(dst, first)
		dst = append(dst, `,"last_id":`...)
		dst = appendOrNull(dst, last)
	}
	return append(dst, '}')
}
