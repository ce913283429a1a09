// Limits that hold for every route that does not say otherwise.
import { checkDefaults } from "../form/checks";
import { useEditing } from "../form/edit";
import { Choice } from "../form/fields";
import { EditPage } from "../form/page";
import { href } from "../router";
import { LimitsForm } from "../routes/limits";

const blank = {};

export function DefaultsEditor() {
  const editing = useEditing<object>({ list: "defaults", name: "", blank, check: checkDefaults });
  return (
    <EditPage editing={editing} what="limits of all routes" name="Limits of all routes" back={href("models")} fixed>
      <LimitsForm />
      <section class="panel section">
        <div class="fields">
          <Choice path="debug_headers" label="Say in answers how they were routed" hint="Headers that begin with x-gpustack- name Route By, target and instance." otherwise="As otherwise: no" />
        </div>
      </section>
    </EditPage>
  );
}
