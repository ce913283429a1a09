// What the gateway would refuse, told while it is typed. Everything is checked again by the gateway itself, which knows
// more (see the dry run in edit.ts); these are the rules that need no answer.
import type { KeyConfig, ModelConfig, ProviderConfig, RouteConfig, TargetConfig } from "../types";
import type { Mistake } from "./context";
import { join } from "./paths";

// Known is what of the file a check needs.
export interface Known {
  routes: string[]; // names, without that of the entry that is edited
  models: string[];
  providers: { name: string; type: string; models: string[] }[];
  keys: string[];
}

type Report = (path: string, message: string, level?: Mistake["level"]) => void;

function checked(check: (report: Report) => void): Mistake[] {
  const mistakes: Mistake[] = [];
  check((path, message, level = "error") => mistakes.push({ path, message, level }));
  return mistakes;
}

function name(report: Report, path: string, value: unknown, taken: string[], what: string): void {
  if (!value) report(path, "A name is required.");
  else if (/[\s\p{C}]/u.test(String(value))) report(path, "A name can't have spaces, nor characters that can't be printed.");
  else if (taken.includes(String(value))) report(path, `There is a ${what} of this name already.`);
}

const durationPattern = /^\+?(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$/;

export function duration(report: Report, path: string, value: unknown, positive = false): void {
  if (value === undefined || value === 0) return;
  if (typeof value !== "string" || !durationPattern.test(value)) report(path, "A duration is written like 500ms, 10s, 1m30s or 2h; 0 is none.");
  else if (positive && !/[1-9]/.test(value)) report(path, "It has to be more than 0.");
}

export function whole(report: Report, path: string, value: unknown, least: number, most = Number.MAX_SAFE_INTEGER): void {
  if (value === undefined) return;
  if (typeof value !== "number" || !Number.isInteger(value)) report(path, "A whole number is needed.");
  else if (value < least) report(path, least === 0 ? "It can't be less than 0." : `It has to be at least ${least}.`);
  else if (value > most) report(path, `It can be ${most.toLocaleString("en")} at most.`);
}

export function codes(report: Report, path: string, list: unknown): void {
  if (!Array.isArray(list)) return;
  list.forEach((code, i) => {
    if (!/^([45]\d\d|4xx|5xx)$/.test(String(code))) report(join(path, i), `${code} is not a status such as 429, and neither 4xx nor 5xx.`);
  });
}

function url(report: Report, path: string, value: unknown): void {
  if (!value) report(path, "An address is required, such as http://10.0.0.11:8000.");
  else if (!/^https?:\/\/[^/@?#\s]+(\/[^@?#]*)?$/i.test(String(value))) {
    report(path, "An address begins with http:// or https:// and has no user name, query or fragment.");
  }
}

export function checkRoute(r: RouteConfig, known: Known): Mistake[] {
  return checked((report) => {
    name(report, "name", r.name, known.routes, "route");
    const targets = r.targets ?? [];
    const seen = new Map<string, number>();
    targets.forEach((t, i) => checkTarget(report, t, i, known, seen));
    if (targets.length === 0) report("targets", "A route without a target can't serve.", "unusable");
    mixed(report, targets);
    if (r.access_policy === "allowed_users" && !r.allowed_users?.length) report("allowed_users", "With nobody listed, nobody may use the route.", "warning");
    for (const [policy, settings] of Object.entries(r.policies ?? {})) checkPolicy(report, policy, settings, known);
    whole(report, "queue.max", r.queue?.["max"], 1);
    duration(report, "queue.timeout", r.queue?.["timeout"], true);
    duration(report, "heartbeat", r.heartbeat);
    checkLimits(report, r);
  });
}

function checkTarget(report: Report, t: TargetConfig, i: number, known: Known, seen: Map<string, number>): void {
  const at = join("targets", i);
  if (t.provider !== undefined) {
    if (!t.provider) report(join(at, "provider"), "Choose a provider.");
    else if (!known.providers.some((p) => p.name === t.provider)) report(join(at, "provider"), `There is no provider ${t.provider}.`);
    if (!t.overridden_model_name) report(join(at, "overridden_model_name"), "A provider has to be asked for a model by its name there.");
  } else if (!t.model) report(join(at, "model"), "Choose a model.");
  else if (!known.models.includes(t.model)) report(join(at, "model"), `There is no model ${t.model}.`);
  whole(report, join(at, "weight"), t.weight, 0);
  if (t.fallback_status_codes && t.fallback_status_codes.length === 0) {
    report(join(at, "fallback_status_codes"), "A fallback target needs at least one status to stand in for.");
  }
  codes(report, join(at, "fallback_status_codes"), t.fallback_status_codes);
  const who = t.provider ? `provider ${t.provider}` : t.model && `model ${t.model}`;
  if (!who) return;
  const identity = `${who} ${t.overridden_model_name ?? ""}`;
  const first = seen.get(identity);
  if (first === undefined) seen.set(identity, i);
  else report(join(at, t.provider ? "provider" : "model"), `This is the same as target ${first + 1}.`);
}

const weighs = (t: TargetConfig) => Number(t.weight ?? 0) > 0;
const candidate = (t: TargetConfig) => !t.fallback_status_codes?.length;

function mixed(report: Report, targets: TargetConfig[]): void {
  if (derive(targets, {}) !== "mixed") return;
  targets.forEach((t, i) => {
    if (candidate(t) && !weighs(t)) report(join(join("targets", i), "weight"), "Other targets have a weight and this one has none.", "unusable");
  });
}

// derive says how a route chooses, from its targets and policies (docs/configuration.md, Route By).
export function derive(targets: TargetConfig[], policies: RouteConfig["policies"]): "target_weight" | "policy" | "round_robin" | "mixed" {
  const candidates = targets.filter(candidate);
  const weighted = candidates.filter(weighs).length;
  if (weighted > 0) return weighted === candidates.length ? "target_weight" : "mixed";
  return Object.values(policies ?? {}).some((p) => p["enabled"] !== false) ? "policy" : "round_robin";
}

function checkPolicy(report: Report, policy: string, settings: Record<string, unknown>, known: Known): void {
  const at = join("policies", policy);
  const weight = settings["weight"];
  if (weight !== undefined && !(typeof weight === "number" && weight > 0)) report(join(at, "weight"), "A weight is a number over 0; fractions are allowed.");
  if (policy === "session_affinity") checkSessionKeys(report, at, settings["session_keys"]);
  if (policy === "decision_service") checkDecision(report, at, settings, known);
}

function checkSessionKeys(report: Report, at: string, keys: unknown): void {
  if (!Array.isArray(keys)) return;
  if (keys.length === 0) report(join(at, "session_keys"), "Name at least one key, or go back to the default ones.");
  keys.forEach((key: Record<string, unknown>, i) => {
    const path = join(join(at, "session_keys"), i);
    if (key["body_key"] !== undefined) {
      if (String(key["body_key"]).split(/(?<!\\)\./).includes("")) report(join(path, "body_key"), "A path is names with single dots between them, such as metadata.user_id.");
    } else if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(String(key["header"] ?? ""))) {
      report(join(path, "header"), "The name of a header has letters, digits and - as a rule.");
    }
  });
}

function checkDecision(report: Report, at: string, settings: Record<string, unknown>, known: Known): void {
  const on = settings["enabled"] !== false;
  const provider = known.providers.find((p) => p.name === settings["provider"]);
  if (!settings["provider"]) {
    if (on) report(join(at, "provider"), "A decision service has to be chosen, or the route can't serve.", "unusable");
  } else if (!provider) report(join(at, "provider"), `There is no provider ${settings["provider"]}.`);
  else if (!decides(provider.type)) report(join(at, "provider"), `${provider.name} is of type ${provider.type}; one of type typesafe or systemone is needed.`);
  const criteria = Object.entries((settings["criteria"] as Record<string, unknown> | undefined) ?? {});
  if (on && criteria.length === 0) report(join(at, "criteria"), "At least one model needs a description, or the route can't serve.", "unusable");
  for (const [model, words] of criteria) {
    if (typeof words !== "string" || words.trim() === "") report(join(join(at, "criteria"), model), "Describe what the model is good for, or remove it.");
  }
  duration(report, join(at, "timeout"), settings["timeout"], true);
  duration(report, join(at, "cache_ttl"), settings["cache_ttl"]);
  whole(report, join(at, "max_state_bytes"), settings["max_state_bytes"], 1, 1 << 20);
}

// decides reports whether a provider of a type is a decision service.
export const decides = (type: string) => type === "typesafe" || type === "systemone";

interface Limits {
  timeouts?: Record<string, unknown>;
  retry?: Record<string, unknown>;
  health?: Record<string, unknown>;
  max_body_bytes?: unknown;
}

function checkLimits(report: Report, l: Limits): void {
  for (const limit of ["connect", "first_byte", "idle", "client_stall"]) duration(report, `timeouts.${limit}`, l.timeouts?.[limit]);
  whole(report, "retry.max_attempts", l.retry?.["max_attempts"], 1);
  duration(report, "retry.deadline", l.retry?.["deadline"]);
  codes(report, "retry.status_codes", l.retry?.["status_codes"]);
  whole(report, "health.unhealthy_threshold", l.health?.["unhealthy_threshold"], 0);
  duration(report, "health.cooldown", l.health?.["cooldown"]);
  duration(report, "health.ramp", l.health?.["ramp"]);
  whole(report, "max_body_bytes", l.max_body_bytes, 0);
}

export const checkDefaults = (d: Limits): Mistake[] => checked((report) => checkLimits(report, d));

export function checkModel(m: ModelConfig, known: Known): Mistake[] {
  return checked((report) => {
    name(report, "name", m.name, known.models, "model");
    const names: string[] = [];
    (m.instances ?? []).forEach((instance, i) => {
      const at = join("instances", i);
      name(report, join(at, "name"), instance.name, names, "instance");
      if (instance.name) names.push(instance.name);
      url(report, join(at, "url"), instance.url);
      whole(report, join(at, "max_inflight"), instance.max_inflight, 0);
    });
    if (m.health_check && !/^\/[^/]|^\/$/.test(m.health_check.path ?? "")) report("health_check.path", "A path begins with /, such as /health.");
    duration(report, "health_check.interval", m.health_check?.interval, true);
  });
}

export function checkKey(k: KeyConfig, known: Known, isNew: boolean): Mistake[] {
  return checked((report) => {
    if (!k.user?.trim()) report("user", "A key belongs to a user.");
    if (!k.name?.trim() && !isNew) report("name", "A name is required.");
    else if (k.name && known.keys.includes(k.name)) report("name", "There is a key of this name already.");
    if (k.expires_at && Number.isNaN(Date.parse(k.expires_at))) report("expires_at", "This is not a time.");
    k.allowed_routes?.forEach((r, i) => {
      if (!known.routes.includes(r)) report(join("allowed_routes", i), `There is no route ${r}.`);
    });
  });
}

export function checkProvider(p: ProviderConfig, known: Known): Mistake[] {
  return checked((report) => {
    name(report, "name", p.name, known.providers.map((k) => k.name), "provider");
    if (!p.type) report("type", "Choose what it is.");
    url(report, "endpoint", p.endpoint);
    const token = p.api_token;
    if (typeof token === "string" && !/^\$\{[A-Za-z_]\w*\}$/.test(token)) {
      if (token.includes("${")) report("api_token", "A variable is written ${NAME}, with nothing around it.");
      else if (!/^[!-~]+$/.test(token)) report("api_token", "A token has no spaces and only ASCII characters.");
    }
  });
}
