// What concerns every page: the gateway is gone or drains, or the file on disk is not what serves.
import type { Refusal } from "./api";
import type { Status } from "./types";
import { Notice } from "./ui/basic";
import { count } from "./words";

export function Banner({ status, error }: { status: Status | undefined; error: Refusal | undefined }) {
  return (
    <div class="banners">
      {error && error.status === 0 && (
        <Notice tone="bad" role="alert" title="The gateway does not answer">
          <p>What is shown is what it said last. It is asked again every two seconds.</p>
        </Notice>
      )}
      {status?.draining && (
        <Notice tone="warn" role="status" title="The gateway drains">
          <p>Running requests finish, then the process ends.</p>
        </Notice>
      )}
      {status && <FileNotice status={status} />}
    </div>
  );
}

function FileNotice({ status }: { status: Status }) {
  const { last_reload: last, file } = status;
  if (last.result === "unreadable") {
    return (
      <Notice tone="bad" role="alert" title="The routes file can't be read, so the last good one serves">
        <p>{last.error}</p>
      </Notice>
    );
  }
  if (last.result === "refused") {
    const errors = last.problems.filter((p) => p.level === "error");
    return (
      <Notice tone="bad" role="alert" title="The routes file on disk can't be used, so the last good one serves">
        <ul>
          {errors.slice(0, 10).map((p) => (
            <li key={`${p.line}:${p.column}:${p.message}`}>
              <code>
                {file.path}:{p.line}:{p.column}
              </code>{" "}
              {p.path && <code>{p.path}</code>} {p.message}
            </li>
          ))}
          {errors.length > 10 && <li>and {count(errors.length - 10, "more", "more")}</li>}
        </ul>
        <p>Nothing can be changed here until that is put right in the file.</p>
      </Notice>
    );
  }
  if (!file.writable) {
    return (
      <Notice tone="info" title="The routes file can't be changed from here">
        <p>{file.reason}</p>
      </Notice>
    );
  }
  return null;
}
