// What the admin API answers, as /api/openapi.json describes it.

export interface Problem {
  level: "error" | "unusable" | "warning";
  path: string; // in the file
  field: string; // within the entry that is shown or written
  line: number;
  column: number;
  route?: string;
  message: string;
}

export interface Failure {
  error: { message: string; code?: string; problems?: Problem[] };
}

export interface Page {
  generation: number;
  etag: string;
}

export type State = "up" | "probation" | "ejected" | "down" | "drained";

export interface Instance {
  name: string;
  url: string;
  in_flight: number;
  limit: number; // 0 is unlimited
  state: State;
  until?: string;
  requests: number;
}

export interface Target {
  index: number;
  name: string;
  kind: "model" | "provider";
  of: string;
  model: string;
  weight: number;
  fallback: boolean;
  fallback_status_codes: string[];
  requests: number;
  share: number;
  instances: Instance[];
}

export interface Route {
  name: string;
  description: string;
  categories: string[];
  access_policy: string;
  allowed_users: string[];
  route_by: string;
  usable: boolean;
  reason?: string;
  problems: Problem[];
  requests: number;
  targets: Target[];
  config: RouteConfig;
}

export interface Routes extends Page {
  window_seconds: number;
  routes: Route[];
}

export interface Model {
  name: string;
  served_model_name: string;
  instances: Instance[];
  routes: string[];
  config: ModelConfig;
}

export interface Models extends Page {
  models: Model[];
}

export interface Provider {
  name: string;
  type: string;
  endpoint: string;
  models: string[];
  api_token: { set: boolean; variable?: string };
  in_flight: number;
  state: State;
  routes: string[];
  config: ProviderConfig;
}

export interface Providers extends Page {
  providers: Provider[];
}

export interface Key {
  name: string;
  user: string;
  expires_at: string | null;
  expired: boolean;
  allowed_routes: string[] | null;
  config: KeyConfig;
}

export interface Keys extends Page {
  keys: Key[];
}

// Circuit is whether a decision service is asked.
export interface Circuit {
  provider: string;
  state: "closed" | "open" | "half_open";
  failures: number;
  until?: string;
}

export interface Status {
  version: string;
  generation: number;
  loaded: string;
  file: { path: string; etag: string; in_use: boolean; writable: boolean; reason?: string };
  draining: boolean;
  active_requests: number;
  clients: number;
  circuits: Circuit[];
  counts: { routes: number; unusable_routes: number; models: number; providers: number; keys: number };
  last_reload: { time: string; result: "ok" | "refused" | "unreadable"; error?: string; problems: Problem[] };
}

// Entries as the file has them. A form may hold text where a number belongs, until it is one.

export type Json = null | boolean | number | string | Json[] | { [member: string]: Json | undefined };
export type Obj = { [member: string]: Json | undefined };

export interface TargetConfig {
  model?: string;
  provider?: string;
  overridden_model_name?: string;
  weight?: number | string;
  fallback_status_codes?: string[];
}

export interface RouteConfig {
  name?: string;
  description?: string;
  categories?: string[];
  access_policy?: string;
  allowed_users?: string[];
  targets?: TargetConfig[];
  policies?: { [name: string]: Obj };
  queue?: Obj;
  heartbeat?: string;
  timeouts?: Obj;
  retry?: Obj;
  health?: Obj;
  max_body_bytes?: number | string;
}

export interface ModelConfig {
  name?: string;
  served_model_name?: string;
  instances?: { name?: string; url?: string; max_inflight?: number | string }[];
  health_check?: { path?: string; interval?: string };
}

export interface ProviderConfig {
  name?: string;
  type?: string;
  endpoint?: string;
  api_token?: string | null;
  models?: string[];
}

export interface KeyConfig {
  name?: string;
  user?: string;
  expires_at?: string;
  allowed_routes?: string[];
}

// Requests that have ended.

export interface Live {
  last: number;
  requests: Ended[];
}

export interface Ended {
  number: number;
  time: string;
  request_id: string;
  endpoint?: string;
  key?: string;
  route?: string;
  route_by?: string;
  target?: string;
  instance?: string;
  model?: string;
  decided_by?: string;
  status: number;
  outcome: string;
  attempts: number;
  fallback: boolean;
  stream: boolean;
  first_byte_ms: number | null;
  total_ms: number;
  tokens: null | { input: number; output: number; cached: number; reasoning: number };
}

// At which load the policies of a route move a session.
export interface Simulation {
  route: string;
  candidates: number;
  votes: { plugin: string; weight: number }[];
  rows: { candidates: number; shifts: ("hold" | "tie" | "flip")[]; first_flip: number | null }[];
}

// What would become of a request.

export interface Report {
  route_by: string;
  candidates: Candidate[];
  votes?: Vote[];
  pick: number;
  ties?: number[];
  rest?: number[];
  decided_by?: string;
  error?: string;
  note?: string;
}

export interface Vote {
  plugin: string;
  weight: number;
  strength: number;
  per_model?: boolean;
  abstained?: boolean;
  reason?: string;
}

export interface Candidate {
  target: string;
  instance: string;
  model: string;
  in_flight: number;
  limit?: number;
  state: State;
  until?: string;
  penalty?: number;
  live: boolean;
  full?: boolean;
  votes?: { score: number; normalised: number; contribution: number }[];
  total: number;
}

export interface Explanation {
  route?: string;
  access_policy?: string;
  refused?: { status: number; code?: string; message: string };
  choice?: Report;
  fallbacks?: { target: string; status_codes: string }[];
}
