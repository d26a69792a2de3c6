// What the page is told: numbers equal to those of the recorder, refusals with fixed words.
#include "serve/api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>

#include "inspect/recorder.h"
#include "io/json.h"
#include "serve/payload.h"
#include "serve/requests.h"
#include "support/small_models.h"

namespace headlight::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ServeApi : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new testing::TempFolder;
    for (const auto& [name, kind] : {std::pair{"en", testing::SmallKind::decoder},
                                     {"bert", testing::SmallKind::encoder},
                                     {"en-fr", testing::SmallKind::translator}}) {
      std::filesystem::create_directory(folder_->root() / name);
      testing::write_small_model(folder_->path(name), kind);
    }
  }
  static void TearDownTestSuite() { delete folder_; }

  static ApiOptions options() {
    ApiOptions o;
    for (const char* name : {"en", "bert", "en-fr"}) o.models.push_back({name, folder_->path(name)});
    o.token = "t";
    o.cookie = "c";
    o.threads = 2;
    return o;
  }
  Answer get(const std::string& path, const std::string& query = "") {
    return api_.answer({.method = "GET", .path = "/api/v1/" + path, .query = query, .body = ""});
  }
  Answer post(const std::string& path, const std::string& body) {
    return api_.answer({.method = "POST", .path = "/api/v1/" + path, .query = "", .body = body});
  }
  io::Json run(const std::string& body) {
    const Answer answer = post("run", body);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return io::Json::parse(answer.body, "run");
  }
  static std::vector<float> floats(const std::string& bytes, std::size_t from = 0) {
    std::vector<float> out((bytes.size() - from) / 4);
    std::memcpy(out.data(), bytes.data() + from, 4 * out.size());
    return out;
  }

  static testing::TempFolder* folder_;
  Api api_{options()};
};
testing::TempFolder* ServeApi::folder_ = nullptr;

TEST_F(ServeApi, WeightsAreTheModelsOwn) {
  const io::Json info = run(R"({"model": "en-fr", "text": "the animal was too tired"})");
  const std::string id = info.text("id");
  Context ctx;
  inspect::LoadedModel loaded = inspect::open_model(folder_->path("en-fr"), {});
  inspect::ModelInput input;
  input.source = inspect::read_text(*loaded.tokenizer, "the animal was too tired");
  input.written = inspect::translate(ctx, loaded, input.source);
  for (const Part part : {Part::encoder, Part::decoder, Part::cross}) {
    inspect::MapRecorder recorder({.part = part});
    (void)inspect::watch(ctx, loaded, input, recorder);
    const std::string base = "run/" + id + "/" + std::string(name_of(part));
    const std::vector<float> all = floats(get(base + "/weights.f32").body);
    std::size_t at = 0;
    for (const inspect::AttentionMap& map : recorder.maps()) {
      const Answer head =
          get(base + "/" + std::to_string(map.layer) + "/" + std::to_string(map.head) + ".bin");
      ASSERT_EQ(head.status, 200) << head.body;
      std::uint32_t length = 0;
      std::memcpy(&length, head.body.data(), 4);
      const io::Json json = io::Json::parse(std::string_view(head.body).substr(4, length), "head");
      EXPECT_EQ(json.integer("rows"), map.rows);
      const std::vector<float> own = floats(head.body, 4 + length);
      for (Index i = 0; i < map.rows; ++i) {
        for (Index j = 0; j < map.columns; ++j, ++at) {
          const float expected = map.sees(i, j) ? map.at(i, j) : NAN;
          ASSERT_EQ(std::memcmp(&all[at], &expected, 4), 0) << name_of(part) << i << " " << j;
          ASSERT_EQ(std::memcmp(&own[static_cast<std::size_t>(i * map.columns + j)], &expected, 4), 0);
        }
      }
    }
    EXPECT_EQ(at, all.size());
  }
}

TEST_F(ServeApi, RowsAndAtlasAgreeWithTheWeights) {
  const io::Json info = run(R"({"model": "en", "text": "the cat sat on the mat"})");
  const std::string base = "run/" + info.text("id") + "/decoder/";
  const std::size_t n = info.object("source").list("tokens").items().size();
  const std::vector<float> all = floats(get(base + "weights.f32").body),
                           row = floats(get(base + "row/3.f32").body);
  const std::string atlas = get(base + "atlas.u8").body;
  ASSERT_EQ(all.size(), 4 * n * n);
  ASSERT_EQ(row.size(), 4 * n);
  ASSERT_EQ(atlas.size(), 8 + 4 * n * n);
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t j = 0; j < n; ++j) {
      const float w = all[(h * n + 3) * n + j];
      EXPECT_EQ(std::memcmp(&row[h * n + j], &w, 4), 0);
      const auto byte = static_cast<unsigned char>(atlas[8 + (h * n + 3) * n + j]);
      if (std::isnan(w)) EXPECT_EQ(byte, 0);
      else EXPECT_NEAR(std::pow((byte - 1) / 254.0, 2), w, 0.005);
    }
}

TEST_F(ServeApi, VectorsGiveTheWeightsAgain) {
  const io::Json info = run(R"({"model": "en", "text": "the cat sat on the mat"})");
  const std::string bytes = get("run/" + info.text("id") + "/decoder/1/1.bin").body;
  std::uint32_t length = 0;
  std::memcpy(&length, bytes.data(), 4);
  const io::Json json = io::Json::parse(std::string_view(bytes).substr(4, length), "head");
  const auto n = static_cast<std::size_t>(json.integer("rows")),
             d = static_cast<std::size_t>(json.integer("dim"));
  const std::vector<float> x = floats(bytes, 4 + length);
  const float *w = x.data(), *q = w + n * n, *k = q + n * d, *v = k + n * d, *z = v + n * d;
  for (std::size_t i = 0; i < n; ++i) {
    std::vector<double> e(i + 1);
    double sum = 0, value = 0;
    for (std::size_t j = 0; j <= i; ++j) {
      double dot = 0;
      for (std::size_t c = 0; c < d; ++c) dot += double{q[i * d + c]} * k[j * d + c];
      sum += e[j] = std::exp(dot * json.real("scale"));
    }
    for (std::size_t j = 0; j <= i; ++j) {
      EXPECT_NEAR(w[i * n + j], e[j] / sum, 1e-5);
      value += e[j] / sum * v[j * d];
    }
    EXPECT_NEAR(z[i * d], value, 1e-4);
  }
}

// A head's matrices and what is beside them, as the page reads them.
struct Matrices {
  std::vector<float> out, out_bias, own, all, q, q_bias, k, k_bias, x, memory;
};

TEST_F(ServeApi, MatricesMakeTheVectorsAndTheOutput) {
  const io::Json info = run(R"({"model": "en-fr", "text": "the cat sat on the mat"})");
  for (const std::string part : {"decoder", "cross"}) {
    const std::string base = "run/" + info.text("id") + "/" + part + "/1/";
    std::vector<double> sum;
    Matrices m;
    for (int head = 0; head < 2; ++head) {
      const auto cut = [&](const std::string& name, io::Json& json) {
        const Answer answer = get(base + std::to_string(head) + name);
        EXPECT_EQ(answer.status, 200) << answer.body;
        std::uint32_t length = 0;
        std::memcpy(&length, answer.body.data(), 4);
        json = io::Json::parse(std::string_view(answer.body).substr(4, length), "head");
        return floats(answer.body, 4 + length);
      };
      io::Json numbers, sizes;
      const std::vector<float> head_bin = cut(".bin", numbers), bytes = cut(".matrices", sizes);
      const auto rows = static_cast<std::size_t>(numbers.integer("rows")),
                 columns = static_cast<std::size_t>(numbers.integer("columns")),
                 dim = static_cast<std::size_t>(numbers.integer("dim")),
                 width = static_cast<std::size_t>(sizes.integer("width"));
      std::size_t at = 0;
      const auto take = [&](std::vector<float>& to, std::size_t count) {
        to.assign(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                  bytes.begin() + static_cast<std::ptrdiff_t>(at + count));
        at += count;
      };
      take(m.out, width * dim), take(m.out_bias, width), take(m.own, rows * width), take(m.all, rows * width);
      take(m.q, dim * width), take(m.q_bias, dim), take(m.k, dim * width), take(m.k_bias, dim);
      take(m.x, rows * width), take(m.memory, part == "cross" ? columns * width : 0);
      ASSERT_EQ(at, bytes.size());
      const float *q = head_bin.data() + rows * columns, *k = q + rows * dim, *z = k + 2 * columns * dim;
      const auto product = [&](const std::vector<float>& w, std::size_t row, const float* x, std::size_t n) {
        double y = 0;
        for (std::size_t i = 0; i < n; ++i) y += double{w[row * n + i]} * x[i];
        return y;
      };
      const std::vector<float>& read = part == "cross" ? m.memory : m.x;
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t d = 0; d < dim; ++d)
          ASSERT_NEAR(product(m.q, d, &m.x[i * width], width) + m.q_bias[d], q[i * dim + d], 1e-4);
      for (std::size_t j = 0; j < columns; ++j)
        for (std::size_t d = 0; d < dim; ++d)
          ASSERT_NEAR(product(m.k, d, &read[j * width], width) + m.k_bias[d], k[j * dim + d], 1e-4);
      sum.resize(rows * width);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t c = 0; c < width; ++c) {
          const double mine = product(m.out, c, z + i * dim, dim);
          ASSERT_NEAR(mine + m.out_bias[c], m.own[i * width + c], 1e-4) << part << i << " " << c;
          sum[i * width + c] += mine;
        }
    }
    // All heads together, and the bias once, are what the layer returns.
    for (std::size_t i = 0; i < sum.size(); ++i)
      ASSERT_NEAR(sum[i] + m.out_bias[i % m.out_bias.size()], m.all[i], 1e-4);
  }
}

TEST_F(ServeApi, TwoTextsForAnEncoder) {
  const io::Json one = run(R"({"model": "bert", "text": "the cat sat"})");
  const io::Json info = run(R"({"model": "bert", "text": "the cat sat", "second": "it was tired"})");
  EXPECT_NE(one.text("id"), info.text("id"));
  EXPECT_EQ(one.object("source").integer("second"), 0);
  EXPECT_EQ(info.object("source").integer("second"), 5);  // [CLS] the cat sat [SEP] | it …
  EXPECT_EQ(info.text("second"), "it was tired");
  EXPECT_EQ(info.object("source").list("tokens").items().size(), 10U);
  // Segments count: the same ids without them give other weights.
  Context ctx;
  inspect::LoadedModel loaded = inspect::open_model(folder_->path("bert"), {});
  inspect::ModelInput input = inspect::pair_input(loaded, "the cat sat", "it was tired");
  EXPECT_EQ(input.types, (std::vector<std::int32_t>{0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  const std::vector<float> all = floats(get("run/" + info.text("id") + "/encoder/weights.f32").body);
  inspect::MapRecorder with({.part = Part::encoder}), without({.part = Part::encoder});
  (void)inspect::watch(ctx, loaded, input, with);
  input.types.clear();
  (void)inspect::watch(ctx, loaded, input, without);
  const std::vector<float>&a = with.maps().front().weights, &b = without.maps().front().weights;
  EXPECT_EQ(std::memcmp(a.data(), all.data(), 4 * a.size()), 0);
  EXPECT_NE(std::memcmp(a.data(), b.data(), 4 * a.size()), 0);
  const Answer refused = post("run", R"({"model": "en", "text": "the cat", "second": "it"})");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("reads one text"));
  EXPECT_EQ(post("run", R"({"model": "bert", "text": "the cat", "second": " "})").status, 400);
}

TEST_F(ServeApi, WritingGoesOnWithTheLikeliestAndRowsAreThoseOfAFullRun) {
  const io::Json first = run(R"({"model": "en", "text": "the cat"})");
  const io::Json top = io::Json::parse(get("run/" + first.text("id") + "/next", "position=3").body, "next");
  const std::int64_t likeliest = top.list("tops").items()[0].integer("id");
  const io::Json second = io::Json::parse(post("run/" + first.text("id") + "/next", "{}").body, "run");
  ASSERT_EQ(second.list("more").items().size(), 1U);
  EXPECT_EQ(second.list("more").items()[0].integer(), likeliest);
  EXPECT_EQ(second.object("source").list("tokens").items().size(),
            first.object("source").list("tokens").items().size() + 1);
  const io::Json same =
      run(R"({"model": "en", "text": "the cat", "more": [)" + std::to_string(likeliest) + "]}");
  EXPECT_EQ(same.text("id"), second.text("id"));
  // Earlier rows do not change when a token is written.
  const std::vector<float> before = floats(get("run/" + first.text("id") + "/decoder/weights.f32").body),
                           after = floats(get("run/" + second.text("id") + "/decoder/weights.f32").body);
  for (std::size_t h = 0; h < 4; ++h)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j <= i; ++j)
        EXPECT_NEAR(before[(h * 4 + i) * 4 + j], after[(h * 5 + i) * 5 + j], 1e-5);
}

// Decodes what serve::base64 writes.
std::string bytes_of(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    if (c == '=') break;
    buffer = (buffer << 6) | static_cast<std::uint32_t>(digits.find(c));
    if ((bits += 6) >= 8) out += static_cast<char>((buffer >> (bits -= 8)) & 0xFF);
  }
  return out;
}

TEST_F(ServeApi, AStreamedContinuationHasTheRowsAndTokensOfFullRuns) {
  const io::Json first = run(R"({"model": "en", "text": "the cat"})");
  const std::string base = "run/" + first.text("id");
  const Answer answer = post(base + "/write", R"({"count": 3})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_TRUE(answer.stream);
  std::vector<io::Json> lines;
  answer.stream([&](std::string_view line) {
    EXPECT_TRUE(line.ends_with("\n"));
    lines.push_back(io::Json::parse(line, "line"));
    return true;
  });
  ASSERT_GE(lines.size(), 2U);
  std::string id = first.text("id");
  for (std::size_t n = 0; n + 1 < lines.size(); ++n) {
    const io::Json next = io::Json::parse(post("run/" + id + "/next", "{}").body, "run");
    id = next.text("id");
    EXPECT_EQ(lines[n].text("id"), id);  // the tokens that one request after the other writes
    const std::size_t keys = next.object("source").list("tokens").items().size();
    EXPECT_EQ(lines[n].object("source").list("tokens").items().size(), keys);
    const std::vector<float> row = floats(bytes_of(lines[n].text("row"))),
                             all = floats(
                                 get("run/" + id + "/decoder/row/" + std::to_string(keys - 1) + ".f32").body);
    ASSERT_EQ(row.size(), all.size());
    EXPECT_EQ(std::memcmp(row.data(), all.data(), 4 * row.size()), 0) << n;
  }
  if (lines.size() == 4) { EXPECT_EQ(lines.back().text("end"), "length"); }
  // A client that has gone gets nothing more.
  int sent = 0;
  post(base + "/write", R"({"count": 3})").stream([&](std::string_view) { return ++sent < 1; });
  EXPECT_LE(sent, 2);
  EXPECT_EQ(post(base + "/write", R"({"count": 100000})").status, 400);
  EXPECT_EQ(get(base + "/write").status, 405);
  const std::string other = run(R"({"model": "bert", "text": "the cat"})").text("id");
  const Answer refused = post("run/" + other + "/write", "{}");
  EXPECT_EQ(refused.status, 400);
  EXPECT_THAT(refused.body, HasSubstr("only decoders continue a text"));
}

TEST_F(ServeApi, RunsAreKeptByTheirContent) {
  const std::string a = run(R"({"model": "en", "text": "the cat"})").text("id");
  EXPECT_EQ(a, run(R"({"text": "the cat"})").text("id"));  // the first model is the usual one
  EXPECT_NE(a, run(R"({"model": "en", "text": "the mat"})").text("id"));
  EXPECT_NE(a, run(R"({"model": "bert", "text": "the cat"})").text("id"));
}

TEST_F(ServeApi, BadBodiesAreRefusedInFixedWords) {
  std::string deep(100'000, '[');
  for (const std::string& body :
       {std::string(), std::string("{"), std::string("[]"), deep,
        std::string(R"({"text": "a", "text": "b"})"), std::string(R"({"text": NaN})"),
        std::string(R"({"text": "a", "seed": 1e999})"), std::string(R"({"text": "\ud800"})"),
        std::string("{\"text\": \"\xff\"}"), std::string(R"({"text": 5})"), std::string(R"({"text": ""})"),
        std::string(R"({"text": "a", "top_k": -5})"), std::string(R"({"text": "a", "top_k": 1.5})"),
        std::string(R"({"text": "a", "temperature": -1})"),
        std::string(R"({"text": "a", "evil<script>": 1})"), std::string(R"({"text": "a", "more": ["0"]})"),
        std::string(R"({"text": "a", "more": [-1]})")}) {
    const Answer answer = post("run", body);
    EXPECT_EQ(answer.status, 400) << body.substr(0, 60);
    EXPECT_THAT(answer.body, Not(HasSubstr("script")));
    EXPECT_NO_THROW((void)io::Json::parse(answer.body, "answer"));
  }
}

TEST_F(ServeApi, ModelsAreNamesFromTheList) {
  for (const std::string& name :
       {folder_->path("en"), std::string("../en"), std::string("/etc/passwd"), std::string("gpt9")})
    EXPECT_EQ(post("run", R"({"text": "a", "model": ")" + name + "\"}").status, 400) << name;
}

TEST_F(ServeApi, PlacesOutsideAreRefused) {
  const std::string base = "run/" + run(R"({"model": "en", "text": "the cat"})").text("id");
  for (const char* path :
       {"/decoder/2/0.bin", "/decoder/0/2.bin", "/decoder/-1/0.bin", "/decoder/1000000000/0.bin",
        "/decoder/1.5/0.bin", "/decoder/%30/0.bin", "/decoder/0/0.bin.bin", "/decoder/0/2.matrices",
        "/decoder/row/99.f32", "/decoder/row/-1.f32"})
    EXPECT_EQ(get(base + path).status, 400) << path;
  for (const char* path : {"/encoder/0/0.bin", "/cross/weights.f32", "/nothing", "/decoder/weights.f33",
                           "/decoder/", "//decoder/weights.f32"})
    EXPECT_EQ(get(base + path).status, 404) << path;
  EXPECT_EQ(get(base + "/next", "position=99").status, 400);
  EXPECT_EQ(get(base + "/next", "position=-1").status, 400);
  EXPECT_EQ(get("run/0123456789abcdef/decoder/weights.f32").status, 404);
}

TEST_F(ServeApi, FiguresOfAPart) {
  const Answer made = api_.answer({.method = "POST",
                                   .path = "/api/v1/run",
                                   .query = "",
                                   .body = R"({"model": "en", "text": "the cat"})"});
  const std::string path = "/api/v1/run/" + io::Json::parse(made.body, "run").text("id") + "/figure";
  const auto figure = [&](const std::string& range) {
    const std::string query = "part=decoder&layer=1&head=0&format=png" + range;
    return api_.answer({.method = "GET", .path = path, .query = query, .body = ""}).status;
  };
  EXPECT_EQ(figure(""), 200);
  EXPECT_EQ(figure("&from=0:2&to=1:4"), 200);
  for (const char* range : {"&from=2:2", "&from=3:1", "&from=-1:2", "&from=1", "&from=1:", "&from=:2",
                            "&from=0:5", "&to=0:5", "&to=0:99999999999", "&to=a:b"})
    EXPECT_EQ(figure(range), 400) << range;
  EXPECT_EQ(figure("&of=values&palette=magma&words=1&mute=special&scale=log"), 200);
  EXPECT_EQ(figure("&mute=first&renormalize=1&range=auto"), 200);
  for (const char* look : {"&of=keys", "&palette=rainbow", "&range=2", "&words=yes", "&mute=all",
                           "&renormalize=1", "&renormalize=1&mute=first&of=values", "&of=scores&words=1",
                           "&from=0:2&words=1", "&to=0:2&mute=first"})
    EXPECT_EQ(figure(look), 400) << look;
}

TEST(FigureQuery, SaysWhatIsShownAndHow) {
  const std::string head = "part=decoder&layer=1&head=0&format=svg";
  const FileRequest plain = parse_figure(head), part = parse_figure(head + "&from=0:2&to=1:4");
  EXPECT_EQ(plain.view.from.size(), 0);
  EXPECT_EQ(plain.form, FileForm::svg);
  EXPECT_EQ(plain.head(), (HeadPlace{1, 0}));
  EXPECT_EQ(part.view.from.end, 2);
  EXPECT_EQ(part.view.to.begin, 1);
  const FileRequest values = parse_figure(head + "&of=values&palette=magma&words=1&mute=special&scale=log");
  EXPECT_EQ(values.view.of, MapOf::values);
  EXPECT_EQ(values.look.palette, Palette::magma);
  EXPECT_EQ(values.look.transfer, Transfer::logarithm);
  EXPECT_TRUE(values.view.words && values.view.mute_special && !values.view.mute_first);
  EXPECT_FALSE(values.look.auto_range);
  const FileRequest muted = parse_figure(head + "&mute=first&renormalize=1&range=auto");
  EXPECT_TRUE(muted.view.renormalize && muted.view.mute_first && muted.look.auto_range);
}

// The files of a head have the numbers that the page was told, and pictures are pictures.
TEST_F(ServeApi, FilesOfAHeadHaveTheNumbersOfTheRun) {
  const std::string id = run(R"({"model": "en-fr", "text": "the cat sat on the mat"})").text("id");
  for (const std::string part : {"encoder", "decoder", "cross"}) {
    const std::vector<float> all = floats(get("run/" + id + "/" + part + "/weights.f32").body);
    const auto file = [&](const std::string& form) {
      const Answer answer = get("run/" + id + "/figure", "part=" + part + "&layer=0&head=0&format=" + form);
      EXPECT_EQ(answer.status, 200) << answer.body;
      return answer.body;
    };
    const io::Json map = io::Json::parse(file("json"), "figure").list("maps").items()[0];
    std::size_t at = 0;
    for (const io::Json& row : map.list("weights").items()) {
      for (const io::Json& cell : row.items()) {
        const float weight = all.at(at++);
        EXPECT_EQ(cell.is(io::Json::Kind::null), std::isnan(weight));
        if (!std::isnan(weight)) { EXPECT_EQ(static_cast<float>(cell.real()), weight); }
      }
    }
    EXPECT_GT(at, 0U);
    EXPECT_EQ(file("npy").substr(1, 5), "NUMPY");
    EXPECT_EQ(file("png").substr(1, 3), "PNG");
    EXPECT_EQ(file("pdf").substr(0, 4), "%PDF");
  }
}

TEST_F(ServeApi, TextsOfEveryKind) {
  for (const std::string& text :
       {std::string("a"), std::string("<script>alert(1)</script>"), std::string("\\u0000\\u0000"),
        std::string("שלום עולם"), std::string("e\\u0301\\u0301\\u0301\\u0301"), std::string("猫 🐈")}) {
    EXPECT_EQ(post("run", R"({"model": "en", "text": ")" + text + "\"}").status, 200) << text;
  }
  std::string words;
  for (int i = 0; i < 41; ++i) words += "cat ";
  EXPECT_EQ(post("run", R"({"model": "en", "text": ")" + words + "\"}").status, 413);  // it reads 40
  EXPECT_EQ(post("run", R"({"model": "en", "text": ")" + std::string(1'000'000, 'a') + "\"}").status, 413);
}

TEST_F(ServeApi, NothingPrivateIsTold) {
  for (const std::string& body :
       {get("models").body, post("run", R"({"model": "en", "text": "the cat"})").body, get("nothing").body}) {
    EXPECT_THAT(body, Not(HasSubstr(folder_->root().string())));
    EXPECT_THAT(body, Not(HasSubstr("httplib")));
  }
}

TEST_F(ServeApi, AModelThatCannotBeOpenedIsToldWithoutItsPath) {
  ApiOptions o = options();
  o.models = {{"gone", folder_->path("gone")}};
  std::string heard;
  o.complain = [&](const std::string& what) { heard = what; };
  Api api(o);
  const Answer answer =
      api.answer({.method = "POST", .path = "/api/v1/run", .query = "", .body = R"({"text": "a"})"});
  EXPECT_EQ(answer.status, 500);
  EXPECT_THAT(answer.body, Not(HasSubstr(folder_->root().string())));
  EXPECT_THAT(heard, HasSubstr("gone"));
}

TEST_F(ServeApi, WorkStopsWhenTheClientLeaves) {
  int asked = 0;
  const Answer answer = api_.answer({.method = "POST",
                                     .path = "/api/v1/run",
                                     .query = "",
                                     .body = R"({"model": "en", "text": "the cat sat"})",
                                     .left = [&] { return ++asked > 1; }});
  EXPECT_EQ(answer.status, 499);
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(post("run", R"({"model": "en", "text": "the cat sat"})").status,
            200);  // and the next one is served
}

// Sinks, logits and probabilities that JSON has no numbers for.
TEST_F(ServeApi, PayloadsAreJsonWhateverTheNumbersAre) {
  const float infinity = std::numeric_limits<float>::infinity();
  Context ctx;
  const Model model = Model::open(folder_->path("en"));
  const auto state = std::make_shared<RunState>(model);
  state->parts = {Part::decoder};
  const headlight::Run made(state);
  RunRequest request;
  request.temperature = infinity;
  for (const float sink : {infinity, -infinity, std::nanf(""), 0.5F}) {
    const Tensor q = Tensor({1, 2, 4, 8}, DType::f32);
    const std::vector<float> sinks = {sink, sink};
    const std::vector<Index> starts = {0, 4};
    AttentionOptions options;
    options.visible = Visibility::causal();
    options.sinks = ConstTensorView(sinks.data(), {2});
    options.softcap = 0;
    options.scale = 1;
    options.q_starts = options.k_starts = starts;
    const Tensor lse = Tensor({1, 2, 4}, DType::f32), x = Tensor({4, 16}, DType::f32);
    state->attentions.clear();
    state->attentions.push_back(std::make_unique<StoredAttention>(AttentionEvent{.ctx = ctx,
                                                                                 .layer = 0,
                                                                                 .part = Part::decoder,
                                                                                 .q = q,
                                                                                 .k = q,
                                                                                 .v = q,
                                                                                 .lse = lse,
                                                                                 .options = options,
                                                                                 .x = x}));
    const std::string bytes = head_numbers(ctx, made, {Part::decoder, 0, 0});
    std::uint32_t length = 0;
    std::memcpy(&length, bytes.data(), 4);
    const io::Json json = io::Json::parse(bytes.substr(4, length), "head");
    EXPECT_EQ(json.at("sink").is(io::Json::Kind::null), !std::isfinite(sink));
  }
  Prediction prediction;
  prediction.top = {{5, std::nan(""), infinity}, {6, 0, -infinity}};
  prediction.actual = {7, 0.5, std::nan("")};
  const io::Json json = io::Json::parse(prediction_json(model, 0, prediction), "prediction");
  EXPECT_TRUE(json.list("tops").items()[0].at("p").is(io::Json::Kind::null));
  EXPECT_TRUE(json.list("tops").items()[1].at("logit").is(io::Json::Kind::null));
  EXPECT_TRUE(json.at("actual").at("logit").is(io::Json::Kind::null));
  EXPECT_TRUE(io::Json::parse(run_json({"0123456789abcdef", request, made}), "run")
                  .at("temperature")
                  .is(io::Json::Kind::null));
}

}  // namespace
}  // namespace headlight::serve
