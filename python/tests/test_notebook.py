"""The viewer in a notebook's frames, as a browser shows it. Skipped without Node or Chromium."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

if not shutil.which("node") or not shutil.which("chromium"):
    print("Node or Chromium is not installed")
    sys.exit(77)

import headlight


class Frames(unittest.TestCase):
    def test_two_frames_show_their_runs(self):
        texts = ("The cat sat on the mat.", "Once upon a time there was a little girl.")
        model = headlight.load("en")
        cells = [model.attend(text)._repr_html_() for text in texts]
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            page = pathlib.Path(folder, "notebook.html")
            page.write_text("<!doctype html><title>a notebook</title>" + "<hr>".join(cells), encoding="utf-8")
            done = subprocess.run(
                ["node", pathlib.Path(__file__).parent / "frames.mjs", page, "2", pathlib.Path(folder, "profile")],
                capture_output=True, text=True, timeout=120, check=True)
        frames = json.loads(done.stdout)
        self.assertEqual(len(frames), 2)
        for frame in frames:
            self.assertIn("headlight-en", frame["text"])
            self.assertNotIn("Waiting", frame["text"])
            self.assertEqual(frame["origin"], "null")  # nothing of the notebook is in its reach
        shown = " ".join(frame["text"] for frame in frames)
        self.assertIn("mat", shown)
        self.assertIn("girl", shown)


if __name__ == "__main__":
    unittest.main()
