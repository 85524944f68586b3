import unittest

from linked_list import LinkedList


class LinkedListTest(unittest.TestCase):
    def test_values_keep_their_order(self):
        self.assertEqual(list(LinkedList([1, 2, 3])), [1, 2, 3])

    def test_a_value_in_the_middle_is_removed(self):
        values = LinkedList([1, 2, 3])
        values.remove(2)
        self.assertEqual(list(values), [1, 3])
        self.assertEqual(len(values), 2)

    def test_append_after_removing_the_last_value(self):
        values = LinkedList([1, 2, 3])
        values.remove(3)
        values.append(4)
        self.assertEqual(list(values), [1, 2, 4])

    def test_removing_what_is_not_there(self):
        with self.assertRaises(ValueError):
            LinkedList([1]).remove(2)


if __name__ == "__main__":
    unittest.main()
