package openai

// Model is an entry of the list of models.
type Model struct {
	ID      string
	Created int64 // seconds since 1970
	OwnedBy string
}

// AppendModel renders one model.
func AppendModel(dst []byte, d Dialect, m Model) []byte { return dst }

// AppendModels renders the whole list.
func AppendModels(dst []byte, d Dialect, models []Model) []byte { return dst }
