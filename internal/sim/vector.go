package sim

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// dimensions is the length of an embedding for which the client names none.
const dimensions = 8

// embeddings serves OpenAI's embeddings: for texts, and for lists of token numbers.
func (x *exchange) embeddings() {
	root, ok := x.object()
	if !ok {
		return
	}
	inputs, ok := embeddingInputs(root.get("input"))
	if !ok {
		x.fail(400, "", "input", "The input must be a text, a list of tokens, or a list of either.")
		return
	}
	n := int(root.get("dimensions").Int())
	switch {
	case n == 0:
		n = dimensions
	case n < 0 || n > 8192:
		x.fail(400, "", "dimensions", "The dimensions must be from 1 to 8192.")
		return
	}
	words, data := 0, make([]object, len(inputs))
	for i, input := range inputs {
		words += countWords(input)
		data[i] = object{"object": "embedding", "index": i, "embedding": embedding(input, n, root.get("encoding_format").Str)}
	}
	x.list(object{"object": "list", "model": x.q.Model, "data": data, "usage": object{"prompt_tokens": words, "total_tokens": words}})
}

// list answers with one JSON object.
func (x *exchange) list(v object) {
	x.s.buf = appendJSON(x.s.buf, v)
	x.s.put(atOnce)
}

// embeddingInputs returns the JSON text of each input.
func embeddingInputs(input gjson.Result) ([]string, bool) {
	if input.Type == gjson.String {
		return []string{input.Raw}, true
	}
	items := input.Array()
	if !input.IsArray() || len(items) == 0 {
		return nil, false
	}
	if items[0].Type == gjson.Number {
		return []string{input.Raw}, true
	}
	var out []string
	for _, item := range items {
		if item.Type != gjson.String && !item.IsArray() {
			return nil, false
		}
		out = append(out, item.Raw)
	}
	return out, true
}

// embedding returns a unit vector that follows from the text: as numbers, or as little-endian float32 in base64, which
// is what OpenAI's clients ask for by themselves.
func embedding(text string, n int, format string) any {
	v := make([]float32, n)
	sum := 0.0
	for i := range v {
		h := fnv.New32a()
		_, _ = h.Write([]byte{byte(i), byte(i >> 8)}) // a hash takes everything
		_, _ = h.Write([]byte(text))
		f := float64(h.Sum32())/math.MaxUint32*2 - 1
		v[i] = float32(f)
		sum += f * f
	}
	for i := range v {
		v[i] /= float32(math.Sqrt(sum))
	}
	if format != "base64" {
		return v
	}
	b := make([]byte, 0, 4*n)
	for _, f := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(f))
	}
	return base64.StdEncoding.EncodeToString(b)
}

// likeness is the share of the words of a that b has too, from 0 to 1.
func likeness(a, b string) float64 {
	words, found := strings.Fields(strings.ToLower(a)), 0
	in := strings.Fields(strings.ToLower(b))
	for _, w := range words {
		if slices.Contains(in, w) {
			found++
		}
	}
	return float64(found) / float64(max(1, len(words)))
}

// texts returns a member that is a text or a list of texts or of objects with a text.
func texts(v gjson.Result) []string {
	if v.Type == gjson.String {
		return []string{v.Str}
	}
	var out []string
	if v.IsArray() {
		v.ForEach(func(_, item gjson.Result) bool {
			if item.IsObject() {
				item = item.Get("text")
			}
			out = append(out, item.Str)
			return true
		})
	}
	return out
}

// rerank serves the rerank API of Jina and Cohere: documents by how much of the query is in them.
func (x *exchange) rerank() {
	root, ok := x.object()
	if !ok {
		return
	}
	query, documents := root.get("query"), texts(root.get("documents"))
	if query.Type != gjson.String || len(documents) == 0 {
		x.fail(400, "", "documents", "A query and a list of documents are required.")
		return
	}
	results, words := make([]object, len(documents)), countWords(query.Str)
	for i, d := range documents {
		words += countWords(d)
		results[i] = object{"index": i, "relevance_score": likeness(query.Str, d), "document": object{"text": d}}
	}
	slices.SortStableFunc(results, func(a, b object) int {
		return cmp.Compare(b["relevance_score"].(float64), a["relevance_score"].(float64)) //nolint:forcetypeassert // set above
	})
	if n := root.get("top_n"); n.Exists() && n.Num > 0 && int(n.Num) < len(results) {
		results = results[:int(n.Num)]
	}
	x.list(object{"id": x.id("rerank-"), "model": x.q.Model, "results": results, "usage": object{"prompt_tokens": words, "total_tokens": words}})
}

// score serves vLLM's score API: one text against each of others, or pair by pair.
func (x *exchange) score() {
	root, ok := x.object()
	if !ok {
		return
	}
	one, two := texts(root.get("text_1")), texts(root.get("text_2"))
	if len(one) == 0 || len(two) == 0 || len(one) != 1 && len(one) != len(two) {
		x.fail(400, "", "text_1", "The texts must be one and many, or equally many.")
		return
	}
	data, words := make([]object, len(two)), 0
	for i, t := range two {
		first := one[min(i, len(one)-1)]
		words += countWords(first) + countWords(t)
		data[i] = object{"index": i, "object": "score", "score": likeness(first, t)}
	}
	x.list(object{
		"id": x.id("score-"), "object": "list", "created": x.q.At.Unix(), "model": x.q.Model, "data": data,
		"usage": object{"prompt_tokens": words, "total_tokens": words},
	})
}

// moderations serves OpenAI's moderations: a text that speaks of violence is flagged.
func (x *exchange) moderations() {
	root, ok := x.object()
	if !ok {
		return
	}
	inputs := texts(root.get("input"))
	if len(inputs) == 0 {
		x.fail(400, "", "input", "An input is required.")
		return
	}
	results := make([]object, len(inputs))
	for i, input := range inputs {
		flagged, score := strings.Contains(strings.ToLower(input), "violence"), 0.01
		if flagged {
			score = 0.99
		}
		results[i] = object{
			"flagged": flagged, "categories": object{"violence": flagged}, "category_scores": object{"violence": score},
			"category_applied_input_types": object{"violence": []string{"text"}},
		}
	}
	x.list(object{"id": x.id("modr-"), "model": x.q.Model, "results": results})
}
