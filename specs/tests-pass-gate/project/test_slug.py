import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_words_are_joined(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_signs_are_dropped(self):
        self.assertEqual(slug("What's new?"), "whats-new")

    def test_blanks_do_not_pile_up(self):
        self.assertEqual(slug("one  two"), "one-two")
        self.assertEqual(slug("salt & pepper"), "salt-pepper")


if __name__ == "__main__":
    unittest.main()
