#include "serve/playground_json.h"

#include "core/concat.h"
#include "io/json_writer.h"
#include "playground/presets.h"
#include "serve/base64.h"

namespace headlight::serve {
namespace {

using playground::ToyCase;
using playground::ToyFrame;
using playground::ToyLook;
using playground::ToyRecord;
using playground::ToySettings;
using playground::ToyTask;

void write_settings(io::JsonWriter& w, const ToySettings& s) {
  w.begin_object()
      .field("task", playground::name_of(s.task))
      .field("layers", s.layers)
      .field("heads", s.heads);
  w.field("width", s.width).field("positions", s.positions).field("mask", s.mask).field("scale", s.scale);
  w.field("residual", s.residual);
  w.field("steps", s.steps).field("rate", s.rate).field("seed", s.seed);
  w.end_object();
}

void write_case(io::JsonWriter& w, const ToyCase& one) {
  w.begin_object().field("ids", one.ids).field("targets", one.targets).end_object();
}

void write_look(io::JsonWriter& w, const ToyLook& look) {
  w.field("says", look.says);
  w.field("maps", base64({reinterpret_cast<const char*>(look.maps.data()), look.maps.size()}));
}

void write_run(io::JsonWriter& w, const ToyRecord& r) {
  w.field("id", r.id).field("state", playground::name_of(r.state)).field("reason", r.reason);
  w.field("step", r.step).field("seconds", io::decimals(r.seconds, 3)).field("parameters", r.parameters);
  write_settings(w.key("settings"), r.settings);
}

}  // namespace

std::string playground_json(const std::vector<ToyRecord>& runs) {
  io::JsonWriter w;
  w.begin_object().key("tasks").begin_list();
  for (const playground::ToyKind kind : playground::kToyKinds) {
    const ToyTask task(kind, 1);
    w.begin_object().field("name", playground::name_of(kind)).field("what", playground::what_of(kind));
    w.field("words", task.words()).field("example", task.text_of(task.unseen_case(0).ids)).end_object();
  }
  w.end_list().key("presets").begin_list();
  for (const playground::Preset& preset : playground::presets()) {
    w.begin_object().field("name", preset.name).field("title", preset.title).field("claim", preset.claim);
    w.field("measured", playground::measured_text(preset));
    w.key("arms").begin_list();
    for (const playground::PresetArm& arm : preset.arms)
      write_settings(w.begin_object().field("label", arm.label).key("settings"), arm.settings),
          w.end_object();
    w.end_list().end_object();
  }
  w.end_list().key("ranges").begin_object();
  for (const playground::ToyRange& range : playground::ranges())
    w.key(range.name).begin_list().value(range.least).value(range.most).end_list();
  w.end_object();
  write_settings(w.key("usual"), ToySettings{});
  w.key("runs").begin_list();
  for (const ToyRecord& record : runs) {
    write_run(w.begin_object(), record);
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string frames_json(const ToyRecord& r, std::size_t after) {
  io::JsonWriter w;
  write_run(w.begin_object(), r);
  w.field("after", after).key("probes").begin_list();
  for (const ToyCase& probe : r.probes) write_case(w, probe);
  w.end_list().key("frames").begin_list();
  for (const ToyFrame& frame : r.frames) {
    w.begin_object().field("step", frame.step).field("seconds", io::decimals(frame.seconds, 3));
    w.field("loss", io::significant(frame.loss, 5)).field("accuracy", io::decimals(frame.accuracy, 4));
    w.field("probe", frame.probe);
    write_look(w, frame.look);
    w.end_object();
  }
  return w.end_list().end_object().take_line();
}

std::string toy_ablation_json(const playground::ToyAblation& ablation) {
  io::JsonWriter w;
  w.begin_object().field("accuracy", io::decimals(ablation.accuracy, 4));
  w.field("before", io::decimals(ablation.before, 4));
  write_look(w, ablation.look);
  return w.end_object().take_line();
}

std::string saved_json(const std::string& name, const std::string& folder) {
  return io::JsonWriter().begin_object().field("name", name).field("folder", folder).end_object().take_line();
}

}  // namespace headlight::serve
