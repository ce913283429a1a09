package route

import (
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

// limits are what a route is held to.
type limits struct {
	timeouts     Timeouts
	retry        Retry
	health       lb.HealthPolicy
	maxBodyBytes int64
}

// builtinLimits hold where neither the route nor the file's defaults say otherwise.
func builtinLimits() limits {
	return limits{
		timeouts:     Timeouts{Connect: 3 * time.Second, FirstByte: 10 * time.Minute, Idle: 5 * time.Minute, ClientStall: 30 * time.Second},
		retry:        Retry{MaxAttempts: 3, Deadline: 10 * time.Minute, StatusCodes: codesOf([]string{"502", "503"})},
		health:       lb.HealthPolicy{Threshold: 3, Cooldown: 10 * time.Second, Ramp: 10 * time.Second, FailOpen: true},
		maxBodyBytes: 100 << 20,
	}
}

// with returns the limits with what an entry says in their place, field by field.
func (l limits) with(e *LimitsEntry) limits {
	set(&l.timeouts.Connect, e.Timeouts.Connect)
	set(&l.timeouts.FirstByte, e.Timeouts.FirstByte)
	set(&l.timeouts.Idle, e.Timeouts.Idle)
	set(&l.timeouts.ClientStall, e.Timeouts.ClientStall)
	set(&l.retry.MaxAttempts, e.Retry.MaxAttempts)
	set(&l.retry.Deadline, e.Retry.Deadline)
	if e.Retry.StatusCodes != nil {
		l.retry.StatusCodes = codesOf(e.Retry.StatusCodes)
	}
	set(&l.retry.PeekFirstEvent, e.Retry.PeekFirstEvent)
	set(&l.health.Threshold, e.Health.UnhealthyThreshold)
	set(&l.health.Cooldown, e.Health.Cooldown)
	set(&l.health.Ramp, e.Health.Ramp)
	set(&l.health.FailOpen, e.Health.FailOpen)
	set(&l.maxBodyBytes, e.MaxBodyBytes)
	return l
}

func set[T any](to, from *T) {
	if from != nil {
		*to = *from
	}
}
