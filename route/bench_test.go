package route

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
	"time"
)

// bigFile returns a routes file of n routes over a hundred models of two instances, with keys keys.
func bigFile(routes, keys int) string {
	var b strings.Builder
	b.WriteString(`{"models": [`)
	for i := range 100 {
		fmt.Fprintf(&b, `%s{"name": "m-%d", "instances": [{"name": "m-%d-1", "url": "http://10.0.%d.1:8000", "max_inflight": 8}, {"name": "m-%d-2", "url": "http://10.0.%d.2:8000"}]}`,
			comma(i), i, i, i, i, i)
	}
	b.WriteString(`], "routes": [`)
	for i := range routes {
		fmt.Fprintf(&b, `%s
  {
    "name": "org/route-%d", "access_policy": "allowed_users", "allowed_users": ["user-%d"],
    "targets": [{"model": "m-%d"}, {"model": "m-%d"}],
    "policies": {"session_affinity": {}, "least_inflight": {"weight": 2}}
  }`, comma(i), i, i, i%100, (i+1)%100)
	}
	b.WriteString(`], "api_keys": [`)
	for i := range keys {
		fmt.Fprintf(&b, `%s
  {"name": "key-%d", "user": "user-%d", "sha256": "%x"}`, comma(i), i, i, sha256.Sum256(fmt.Append(nil, "secret-", i)))
	}
	b.WriteString(`]}`)
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ","
}

func BenchmarkCaller(b *testing.B) {
	for _, keys := range []int{10, 100_000} {
		b.Run(fmt.Sprintf("keys=%d", keys), func(b *testing.B) {
			s := mustBuild(b, bigFile(1, keys), testOptions())
			secrets := make([][]byte, 1024)
			for i := range secrets {
				secrets[i] = fmt.Append(nil, "secret-", i*keys/len(secrets))
			}
			now := time.Now()
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := s.Caller(secrets[i%len(secrets)], now); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkRoute(b *testing.B) {
	for _, routes := range []int{10, 10_000} {
		b.Run(fmt.Sprintf("routes=%d", routes), func(b *testing.B) {
			s := mustBuild(b, bigFile(routes, 10), testOptions())
			names := make([][]byte, 1024)
			for i := range names {
				names[i] = fmt.Append(nil, "org/route-", i*routes/len(names))
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if s.Route(names[i%len(names)]) == nil {
					b.Fatal("not found")
				}
			}
		})
	}
}

// BenchmarkLoad is a whole reload: 10,000 routes and 10,000 keys, from bytes to snapshot.
func BenchmarkLoad(b *testing.B) {
	data := []byte(bigFile(10_000, 10_000))
	o := testOptions()
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if s, problems := Load("routes.json", data, o); s == nil {
			b.Fatal(report(s, problems))
		}
	}
}
