package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

func TestParse(t *testing.T) {
	tests := []struct {
		name, body string
		model      string
		stream     bool
		usage      bool
		previous   string
	}{
		{"least", `{"model":"m"}`, "m", false, false, ""},
		{"white space", " \r\n\t{ \"model\" : \"m\" , \"stream\" : true } \n", "m", true, false, ""},
		{"stream false", `{"stream":false,"model":"m"}`, "m", false, false, ""},
		{"stream null", `{"stream":null,"model":"m"}`, "m", false, false, ""},
		{"escaped value", `{"model":"org\/\u0071wen\ud83d\ude00"}`, "org/qwen😀", false, false, ""},
		{"escaped name", `{"mod\u0065l":"m","\u0073tream":true}`, "m", true, false, ""},
		{"not ASCII", `{"model":"模型"}`, "模型", false, false, ""},
		{"usage", `{"model":"m","stream":true,"stream_options":{"include_usage":true}}`, "m", true, true, ""},
		{"usage false", `{"model":"m","stream":true,"stream_options":{"include_usage":false}}`, "m", true, false, ""},
		{"usage null", `{"model":"m","stream_options":null}`, "m", false, false, ""},
		{"usage of another kind", `{"model":"m","stream_options":{"include_usage":"true"}}`, "m", false, false, ""},
		{"usage elsewhere", `{"model":"m","include_usage":true,"stream_options":{"x":{"include_usage":true}}}`, "m", false, false, ""},
		{"chain", `{"model":"m","previous_response_id":"resp_1"}`, "m", false, false, "resp_1"},
		{"chain, escaped", `{"model":"m","previous_response_id":"resp\u005f1"}`, "m", false, false, "resp_1"},
		{"chain null", `{"model":"m","previous_response_id":null}`, "m", false, false, ""},
		{"nested names do not count", `{"x":{"model":"a","stream":true},"model":"m","y":[{"model":"b"}]}`, "m", false, false, ""},
		{"other duplicates are the engine's", `{"model":"m","temperature":1,"temperature":2,"x":1,"x":2}`, "m", false, false, ""},
		{"another case alone", `{"model":"m","Stream":true,"STREAM_OPTIONS":{"include_usage":true}}`, "m", false, false, ""},
		{"names like it", `{"model":"m","models":["a"],"mode":"x","model_":"y","modelmodelmodel":1}`, "m", false, false, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var c Call
			if err := c.Parse([]byte(test.body)); err != nil {
				t.Fatal(err)
			}
			if string(c.Model()) != test.model || c.Stream() != test.stream || c.IncludeUsage() != test.usage ||
				string(c.PreviousResponseID()) != test.previous {
				t.Errorf("model %q, stream %v, usage %v, previous %q", c.Model(), c.Stream(), c.IncludeUsage(), c.PreviousResponseID())
			}
			var want string
			if json.Unmarshal(span(&c, test.body), &want) != nil || want != test.model {
				t.Errorf("span %q", span(&c, test.body))
			}
		})
	}
}

func span(c *Call, body string) []byte {
	from, until := c.ModelSpan()
	return []byte(body[from:until])
}

// refused checks that a body gets a 400 that names the field and that the call then knows nothing.
func refused(t *testing.T, body, param, says string) {
	t.Helper()
	var c Call
	err := c.Parse([]byte(body))
	if err == nil {
		t.Errorf("%.60q passes", body)
		return
	}
	if err.Status != 400 || err.Type != "invalid_request_error" || err.Param != param || !strings.Contains(err.Message, says) ||
		err.Code == "" || len(err.Message) > 400 {
		t.Errorf("%.60q: %+v, want param %q and %q", body, err, param, says)
	}
	if from, until := c.ModelSpan(); len(c.Model()) > 0 || c.Stream() || until != from {
		t.Errorf("%.60q: something is left", body)
	}
	if _, found, _ := c.String([]string{"model"}); found {
		t.Errorf("%.60q: members are left", body)
	}
}

func TestC081_DuplicateField(t *testing.T) {
	for _, body := range []string{
		`{"model":"a","model":"b"}`, `{"model":"a","model":"a"}`, `{"model":"a","mod\u0065l":"b"}`, `{"\u006d\u006f\u0064\u0065\u006c":"a","model":"b"}`,
		`{"\u006dodel":"a","m\u006fdel":"b"}`, `{"model":"a","x":{"model":"b"},"model":"c"}`, `{"model":"a","model":null}`,
		`{"model":"allowed","Model":"forbidden"}`, `{"MODEL":"forbidden","model":"allowed"}`, `{"model":"a","\u004dodel":"b"}`,
	} {
		refused(t, body, "model", `"model"`)
	}
	for _, body := range []string{
		`{"model":"a","stream":true,"stream":false}`, `{"stream":null,"model":"a","stream":true}`, `{"model":"a","stream":false,"str\u0065am":true}`,
		`{"model":"a","stream":false,"STREAM":true}`, `{"model":"a","stream":false,"ſtream":true}`, `{"model":"a","stream":false,"\u017ftream":true}`,
	} {
		refused(t, body, "stream", `"stream"`)
	}
	refused(t, `{"model":"a","previous_response_id":"x","previous_response_\u0069d":"y"}`, "previous_response_id", "more than once")
	refused(t, `{"model":"a","stream_options":{},"stream_options":{"include_usage":true}}`, "stream_options", "more than once")
	refused(t, `{"model":"a","stream_options":{"include_usage":false,"include_usage":true}}`, "stream_options.include_usage", "more than once")
	refused(t, `{"model":"a","model":"b"}`, "model", "more than once")
	refused(t, `{"model":"a","Model":"b"}`, "model", "in another case")
}

func TestC082_NotAnObject(t *testing.T) {
	for body, says := range map[string]string{
		"": "is empty", " \n ": "is empty", `[]`: "not a JSON object", `[{"model":"m"}]`: "not a JSON object", `"model"`: "not a JSON object",
		`null`: "not a JSON object", `model=m`: "not a JSON object", "\ufeff{\"model\":\"m\"}": "the byte 0xEF", `{'model':'m'}`: "byte 1",
		`{"model":"m"`: "ends at byte 12", `{"model":"m"}x`: "byte 13, 'x' follows", `{"model":"m"}{"model":"n"}`: "follows",
		`{"model":"m","t":NaN}`: "byte 17, 'N'", `{"model":"m","t":01}`: "byte 18", `{"model":"m",}`: "byte 13", `{"model":"m" "x":1}`: "a comma",
		"{\"model\":\"m\",\"x\":\"\n\"}": "control characters", "{\"model\":\"m\",\"x\":\"\xff\"}": "not UTF-8", "{\"model\":\"m\"}\x00": "follows",
		`{"model":"m","x":tru}`: "byte 20", `{"model":"m","x":"\q"}`: "escape", `{model:"m"}`: "name", `{"model" "m"}`: "colon",
	} {
		refused(t, body, "", says)
	}
}

func TestParse_Model(t *testing.T) {
	for body, says := range map[string]string{
		`{}`: "is missing", `{"stream":true}`: "is missing", `{"Model":"m"}`: "is missing", `{"x":{"model":"m"}}`: "is missing",
		`{"model":""}`: "an empty string", `{"model":null}`: "is null", `{"model":7}`: "the number 7", `{"model":true}`: "is true",
		`{"model":["m"]}`: "an array", `{"model":{"name":"m"}}`: "an object", `{"model":1` + strings.Repeat("0", 1<<16) + `}`: "the number 1000",
	} {
		refused(t, body, "model", says)
	}
	for body, says := range map[string]string{
		`{"model":"m","stream":"true"}`: `the string "true"`, `{"model":"m","stream":1}`: "the number 1", `{"model":"m","stream":{}}`: "an object",
		`{"stream":"` + strings.Repeat("x", 1<<16) + `","model":"m"}`: `true, false or null`,
	} {
		refused(t, body, "stream", says)
	}
}

func TestC083_DeepBodies(t *testing.T) {
	for _, n := range []int{6_000_000, 10_000_000, 30_000_000} {
		brackets := strings.Repeat("[", n)
		refused(t, brackets, "", "not a JSON object")
		refused(t, `{"model":"m","messages":[{"content":`+brackets, "", "nested deeper than 1000 levels")
		refused(t, strings.Repeat(`{"a":`, n/5), "", "nested deeper than 1000 levels")
	}
	var c Call
	deepest := `{"model":"m","x":` + strings.Repeat("[", 999) + strings.Repeat("]", 999) + `}`
	if err := c.Parse([]byte(deepest)); err != nil {
		t.Error(err)
	}
	refused(t, `{"model":"m","x":`+strings.Repeat("[", 1000)+strings.Repeat("]", 1000)+`}`, "", "nested deeper")
}

func TestC084_OnlyTheModelsBytesDiffer(t *testing.T) {
	before := "{\n\t\"seed\": 9007199254740993, \"t\" :1.10, \"unknown\": [ {\"a\\u00e9\": \"\\/\"} ],  \"model\" :  "
	after := ` , "z":1E400, "big":123456789012345678901234567890 }` + "\n"
	for _, model := range []string{`"route"`, `"r\u006fute"`} {
		var c Call
		body := before + model + after
		if err := c.Parse([]byte(body)); err != nil {
			t.Fatal(err)
		}
		from, until := c.ModelSpan()
		got := body[:from] + string(c.EncodeModel(nil, `served "name"\`)) + body[until:]
		if want := before + `"served \"name\"\\"` + after; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

func TestString(t *testing.T) {
	body := `{"model":"m","prompt_cache_key":"k1","metadata":{"user_id":"u\u0031","user.id":"dotted","n":{"deep":"d"},"e":""},` +
		`"num":7,"null":null,"list":["x"],"twice":1,"twice":"b","inner":{"a":1,"\u0061":2,"b":"c"},"":"nameless"}`
	tests := []struct {
		path  string
		value string
		found bool
		twice string
	}{
		{"prompt_cache_key", "k1", true, ""}, {"metadata/user_id", "u1", true, ""}, {"metadata/user.id", "dotted", true, ""},
		{"metadata/n/deep", "d", true, ""}, {"metadata/e", "", true, ""}, {"", "nameless", true, ""}, {"model", "m", true, ""},
		{"num", "", false, ""}, {"null", "", false, ""}, {"list", "", false, ""}, {"list/0", "", false, ""}, {"metadata", "", false, ""},
		{"absent", "", false, ""}, {"absent/x", "", false, ""}, {"metadata/absent", "", false, ""}, {"prompt_cache_key/x", "", false, ""},
		{"metadata/n/deep/x", "", false, ""}, {"Prompt_cache_key", "", false, ""},
		{"twice", "", false, "twice"}, {"twice/x", "", false, "twice"}, {"inner/a", "", false, "inner.a"}, {"inner/b", "c", true, ""},
	}
	wide := strings.Replace(body, `"model":"m",`, `"model":"m",`+strings.Repeat(`"filler":0,`, 2*maxMembers), 1)
	for _, body := range []string{body, wide} {
		var c Call
		if err := c.Parse([]byte(body)); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for _, test := range tests {
				value, found, err := c.String(strings.Split(test.path, "/"))
				if string(value) != test.value || found != test.found || (err != nil) != (test.twice != "") {
					t.Errorf("%s: %q, %v, %v", test.path, value, found, err)
				}
				if err != nil && (err.Status != 400 || err.Param != test.twice) {
					t.Errorf("%s: %+v", test.path, err)
				}
			}
		}
		if _, found, err := c.String(nil); found || err != nil {
			t.Error("something at no path")
		}
	}
}

func TestCall_NothingRead(t *testing.T) {
	var c Call
	check := func(when string) {
		t.Helper()
		_, found, err := c.String([]string{"model"})
		if from, until := c.ModelSpan(); found || err != nil || from != 0 || until != 0 || len(c.Model()) > 0 || c.Stream() ||
			c.IncludeUsage() || len(c.PreviousResponseID()) > 0 || len(c.TaskText(nil, endpoints["/chat/completions"], 100)) > 0 {
			t.Errorf("%s: something is there", when)
		}
	}
	check("zero")
	body := `{"model":"\u006d","stream":true,"stream_options":{"include_usage":true},"previous_response_id":"p","messages":[]}`
	if err := c.Parse([]byte(body)); err != nil {
		t.Fatal(err)
	}
	c.Reset()
	check("reset")
	if err := c.Parse([]byte(body)); err != nil {
		t.Fatal(err)
	}
	c.Release()
	if !c.Stream() || !c.IncludeUsage() {
		t.Error("released: what was asked for is forgotten")
	}
	if _, found, _ := c.String([]string{"model"}); found || len(c.Model()) > 0 || c.body != nil {
		t.Error("released: the body is still there")
	}
}

func TestCall_MemoryIsBounded(t *testing.T) {
	var c Call
	body := `{"model":"m"` + strings.Repeat(`,"x":"\n"`, 1000) + `,"k":"` + strings.Repeat(`\n`, 1<<20) + `"}`
	if err := c.Parse([]byte(body)); err != nil {
		t.Fatal(err)
	}
	if value, found, _ := c.String([]string{"k"}); !found || len(value) != 1<<20 {
		t.Error("not found")
	}
	c.Reset()
	if cap(c.decoded) > keepBytes || cap(c.members) > 2*maxMembers {
		t.Errorf("keeps %d bytes and %d members", cap(c.decoded), cap(c.members))
	}
}

func TestCall_Allocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	body := []byte(`{"model":"qw\u0065n3","stream":true,"metadata":{"user_id":"u\n1"},"stream_options":{"include_usage":true},` +
		`"previous_response_id":"r\u0031","messages":[{"role":"user","content":"Hello"}],"prompt_cache_key":"k"}`)
	paths := [][]string{{"prompt_cache_key"}, {"metadata", "user_id"}, {"absent"}, {"metadata", "absent"}}
	var c Call
	var buf []byte
	if n := testing.AllocsPerRun(100, func() {
		if err := c.Parse(body); err != nil || len(c.Model()) != 5 {
			t.Error(err)
		}
		for _, path := range paths {
			if _, _, err := c.String(path); err != nil {
				t.Error(err)
			}
		}
		buf = c.EncodeModel(buf[:0], "served")
		c.Reset()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	method, path := []byte("GET"), []byte("/v1/models/org/name")
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := Resolve(method, path); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("Resolve: %v allocations", n)
	}
}
