// Files of a recipe are found beside it, and else in the working folder.
#include "train/recipe_paths.h"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temp_folder.h"

namespace headlight::train {
namespace {

TEST(RecipePaths, AreLookedForBesideTheRecipeFirst) {
  testing::TempFolder folder;
  std::ofstream(folder.path("here.txt")) << "a";
  Recipe recipe;
  recipe.data.train = {"here.txt", "elsewhere.txt", folder.path("absolute.txt")};
  recipe.tokenizer.file = "here.txt";
  recipe.model.start = "a-model";
  resolve_paths(recipe, folder.path("recipe.toml"));
  EXPECT_EQ(recipe.data.train[0], folder.path("here.txt"));
  EXPECT_EQ(recipe.data.train[1], "elsewhere.txt");
  EXPECT_EQ(recipe.data.train[2], folder.path("absolute.txt"));
  EXPECT_EQ(recipe.tokenizer.file, folder.path("here.txt"));
  EXPECT_EQ(recipe.model.start, "a-model");
}

TEST(RecipePaths, OfARecipeInTheWorkingFolderStayAsTheyAre) {
  Recipe recipe;
  recipe.data.train = {"here.txt"};
  resolve_paths(recipe, "recipe.toml");
  EXPECT_EQ(recipe.data.train[0], "here.txt");
}

}  // namespace
}  // namespace headlight::train
