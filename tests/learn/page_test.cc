// The course as the page and the printer get it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "draw/pages.h"
#include "draw/typesetter.h"
#include "io/json.h"
#include "learn/chapter_html.h"
#include "learn/course.h"
#include "learn/course_pages.h"
#include "learn/lesson.h"

namespace headlight::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(ChapterHtml, EscapesAndKnowsItsMarks) {
  EXPECT_EQ(learn::chapter_html("a < b & *c* **d** `e<f` _g_ snake_case_name 2 * 3\n"),
            "<p>a &lt; b &amp; <em>c</em> <strong>d</strong> <code>e&lt;f</code> <em>g</em> snake_case_name "
            "2 * 3</p>");
  EXPECT_EQ(learn::chapter_html("[two](02-dot-product.md) [x](https://example.org)\n"),
            "<p><a href=\"#learn=2\">two</a> x</p>");
  EXPECT_EQ(learn::chapter_html("- a\n- b\n  c\n"), "<ul><li>a</li><li>b c</li></ul>");
  EXPECT_THAT(learn::chapter_html("<script>alert(1)</script>\n"), Not(HasSubstr("<script")));
  EXPECT_THAT(learn::chapter_html("```sh\nheadlight serve --model en --at \"t=A&h=1.2\"\n```\n"),
              HasSubstr("href=\"#m=headlight-en&amp;t=A&amp;h=1.2\""));
}

TEST(ChapterHtml, ChaptersAreWholeAndBalanced) {
  for (int n = 1; n <= learn::kChapters; ++n) {
    const io::Json json = io::Json::parse(learn::chapter_json(n), "chapter");
    const std::string& html = json.text("html");
    const auto count = [&](std::string_view what) {
      std::size_t found = 0;
      for (std::size_t at = html.find(what); at != std::string::npos; at = html.find(what, at + 1)) ++found;
      return found;
    };
    for (const char* tag : {"details", "section", "pre", "p", "h3", "ul"})
      EXPECT_EQ(count(std::string("<") + tag + ">") + count(std::string("<") + tag + " "),
                count(std::string("</") + tag + ">"))
          << n << " " << tag;
    EXPECT_EQ(count("data-picture"), 1U) << n;
    EXPECT_EQ(count("data-exercise"), json.list("exercises").items().size()) << n;
    EXPECT_EQ(count("data-view"), 1U) << n;  // a link that opens the viewer
    EXPECT_EQ(count("data-train"), n == 6 || n == 7 || n == 8 || n == 10 || n == 13 ? 1U : 0U)
        << n;  // a story
    EXPECT_THAT(html, Not(HasSubstr("**"))) << n;
    EXPECT_THAT(json.text("picture"), HasSubstr("</svg>")) << n;
  }
  const io::Json slider = io::Json::parse(learn::chapter_json(3), "chapter").object("slider");
  EXPECT_EQ(slider.list("words").items().size(), slider.list("scores").items().size());
  EXPECT_EQ(io::Json::parse(learn::chapter_json(4), "chapter").find("slider"), nullptr);
  EXPECT_EQ(io::Json::parse(learn::course_list_json(), "list").list("chapters").items().size(), 16U);
  EXPECT_EQ(io::Json::parse(learn::course_json(), "course").list("chapters").items()[15].integer("number"),
            16);
}

TEST(CoursePages, PrintEveryChapterAndTheAnswers) {
  int asked = 0;
  const std::vector<draw::Drawing> pages = learn::course_pages([&](const learn::ModelPicture& wanted) {
    EXPECT_EQ(wanted.model, "en-fr");
    ++asked;
    return learn::lesson(1).picture();
  });
  EXPECT_EQ(asked, 1);
  EXPECT_GT(pages.size(), 32U);
  EXPECT_LT(pages.size(), 120U);
  std::string all;
  const draw::Typesetter setter;
  for (const draw::Drawing& page : pages)
    for (const draw::DrawingItem& item : page.items)
      if (const auto* text = std::get_if<draw::TextItem>(&item)) {
        all += text->text + "\n";
        EXPECT_LE(text->at.y, page.height) << text->text;
        const double wide = setter.width(text->text, text->look);
        const double end = text->anchor == draw::Anchor::left ? text->at.x + wide : text->at.x;
        EXPECT_TRUE(text->degrees != 0 || end <= page.width - 30) << text->text;
        for (const char c : text->text) EXPECT_GE(static_cast<unsigned char>(c), ' ') << text->text;
      }
  for (const learn::Chapter& c : learn::chapters()) EXPECT_THAT(all, HasSubstr(c.title));
  EXPECT_THAT(all, HasSubstr("Chapter 4:"));
  EXPECT_THAT(all, Not(HasSubstr("<details>")));
  EXPECT_THAT(all, HasSubstr("scaled dot-product"));
  EXPECT_THAT(all, HasSubstr("\"journey\""));
  EXPECT_THAT(all, Not(HasSubstr("_scaled_")));
  EXPECT_THAT(all, Not(HasSubstr("**")));
  EXPECT_THAT(all, Not(HasSubstr("(Picture: ")));
  // Contents first.
  EXPECT_LT(all.find("16. Fast attention"), all.find("The idea"));
  // Predictions are revealed behind the last chapter, not beside their question.
  const std::size_t revealed = all.find("Much larger: 0.5931");
  EXPECT_NE(revealed, std::string::npos);
  EXPECT_GT(revealed, all.find("Chapter 1:"));
  EXPECT_THAT(draw::encoded_pages({pages[0], pages[1]}), HasSubstr("/Count 2"));
}

}  // namespace
}  // namespace headlight::testing
